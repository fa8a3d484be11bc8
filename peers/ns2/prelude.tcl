# What every script of the driver shares. A script sets `nodes`, `links` and `flows` up through these procedures,
# and every result is a line of the file `results`: a word, a name, a moment and numbers.

set ns [new Simulator]
set results [open results w]
set null [$ns set nullAgent_]

# A node. Names of the scenario are arguments of a list, so that they may hold any character.
proc node {name} {
    global ns node
    set node($name) [$ns node]
}

# A link and its queue. `counted` links have a monitor of the packets that wait behind the one on the wire.
proc link {name from to bandwidth delay limit counted} {
    global ns node link monitor backlog
    $ns simplex-link $node($from) $node($to) $bandwidth $delay DropTail
    $ns queue-limit $node($from) $node($to) $limit
    set link($name) [$ns link $node($from) $node($to)]
    if {$counted} {
        set monitor($name) [$ns monitor-queue $node($from) $node($to) ""]
        set backlog($name) [$monitor($name) get-pkts-integrator]
    }
}

# Every change of the backlog of a link goes to a file.
proc trace_backlog {name file} {
    global monitor
    $monitor($name) trace [open $file w]
}

# A loss model at the far end of a link, whose drops are counted apart from those of the queue.
proc impair {name model} {
    global link null lost
    set lost($name) [new QueueMonitor]
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $lost($name)
    $snoop target $null
    $link($name) insert-linkloss $model
    $model drop-target $snoop
}

proc forced {ordinals} {
    set model [new ErrorModel/List]
    $model unit pkt
    $model droplist $ordinals
    return $model
}

proc bernoulli {probability} {
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $probability
    $model ranvar [new RandomVariable/Uniform]
    return $model
}

# Two states that last for fixed times; each packet after that draws one until it is the other. The first time ends at
# `ends`; left alone it would begin with the first packet.
proc two_state {good bad good_loss loss change ends} {
    global ns
    set states [list [bernoulli $good_loss] [bernoulli $loss]]
    set draw [list [expr {1.0 - $change}] $change]
    set model [new ErrorModel/MultiState $states [list $good $bad] [list $draw $draw] pkt time 2 [lindex $states 0]]
    $model set curperiod_ $ends
    $ns at $ends "$model set texpired_ 1"
    return $model
}

# A TCP connection. `settings` is a list of instance variables and values. The first number that a generator draws
# after `seed` is the phase of the agent's clock.
proc connection {name from to agent sink settings sink_settings ssthresh seed} {
    global ns node tcp sink_of
    set tcp($name) [new $agent]
    foreach {variable value} $settings {
        $tcp($name) set $variable $value
    }
    # The run begins by resetting every agent, so that what a reset decides is decided after that.
    $ns at 0.0 [list settle $tcp($name) $ssthresh $seed]
    $ns attach-agent $node($from) $tcp($name)
    set sink_of($name) [new $sink]
    foreach {variable value} $sink_settings {
        $sink_of($name) set $variable $value
    }
    $ns attach-agent $node($to) $sink_of($name)
    $ns connect $tcp($name) $sink_of($name)
    report address $name [$tcp($name) set agent_addr_] [$tcp($name) set agent_port_]
}

proc settle {agent ssthresh seed} {
    global defaultRNG
    if {$seed > 0} {
        $defaultRNG seed $seed
    }
    $agent reset
    $agent set ssthresh_ $ssthresh
}

# Changes of traced variables of a connection go to a channel.
proc trace_variables {name channel variables} {
    global tcp
    $tcp($name) attach $channel
    foreach variable $variables {
        $tcp($name) tracevar $variable
    }
}

# What enters a link goes to a channel, one line a packet.
proc trace_packets {name channel} {
    global ns link
    set from [$link($name) set fromNode_]
    set to [$link($name) set toNode_]
    $link($name) add-to-head [$ns create-trace Enque $channel $from $to]
}

# Datagrams from a generator of traffic; `settings` are the generator's.
proc datagrams {name from to generator packet settings start stop} {
    global ns node sink_of
    set agent [new Agent/UDP]
    $agent set packetSize_ $packet
    $ns attach-agent $node($from) $agent
    set sink_of($name) [new Agent/LossMonitor]
    $ns attach-agent $node($to) $sink_of($name)
    $ns connect $agent $sink_of($name)
    set source [new Application/Traffic/$generator]
    foreach {variable value} $settings {
        $source set $variable $value
    }
    $source attach-agent $agent
    $ns at $start "$source start"
    if {$stop ne ""} {
        $ns at $stop "$source stop"
    }
}

# Starts a connection that always has data (`packets` is empty) or sends so many packets.
proc transmit {name start stop packets} {
    global ns tcp
    set application [new Application/FTP]
    $application attach-agent $tcp($name)
    if {$packets eq ""} {
        $ns at $start "$application start"
    } else {
        $ns at $start "$application produce $packets"
    }
    if {$stop ne ""} {
        $ns at $stop "$application stop"
        $ns at $stop [list watch $name]
    }
}

# Notes when the last data of a flow arrives that has stopped.
Class Application/Watch -superclass Application

Application/Watch instproc recv {bytes} {
    global ns last_delivery
    set last_delivery([$self set flow_]) [$ns now]
}

proc watch {name} {
    global sink_of
    set watch [new Application/Watch]
    $watch set flow_ $name
    $watch attach-agent $sink_of($name)
    $watch start
}

# Notes when a transfer is complete, and ends the run with the last one of `awaited`.
proc note_completion {name} {
    global tcp
    $tcp($name) proc done {} [list completed $name]
}

proc completed {name} {
    global ns awaited
    report completed $name [$ns now]
    if {[info exists awaited($name)]} {
        unset awaited($name)
        if {[array size awaited] == 0} {
            finish
        }
    }
}

proc report {word name args} {
    global results
    puts $results [list $word $name {*}$args]
}

# The state of every counter at a moment.
proc snapshot {moment} {
    global ns tcp sink_of monitor backlog lost last_delivery
    set now [$ns now]
    report clock $moment $now
    foreach name [array names last_delivery] {
        report delivered $name $last_delivery($name)
    }
    foreach name [array names sink_of] {
        set line [list report flow $name $moment [$sink_of($name) set bytes_]]
        if {[info exists tcp($name)]} {
            foreach variable {ndatapack_ nrexmitpack_ nrexmit_} {
                lappend line [$tcp($name) set $variable]
            }
        }
        eval $line
    }
    foreach name [array names monitor] {
        $backlog($name) newpoint $now [$monitor($name) set pkts_]
        set line [list report link $name $moment [$backlog($name) set sum_]]
        foreach variable {parrivals_ pdrops_ bdepartures_} {
            lappend line [$monitor($name) set $variable]
        }
        eval $line
    }
    foreach name [array names lost] {
        report lost $name $moment [$lost($name) set pdrops_]
    }
}

proc finish {} {
    global results
    snapshot end
    close $results
    exit 0
}
