;; Additive increase, multiplicative decrease, as examples/c/aimd.c. Tests replace the marked lines.
(module
  (memory (export "memory") 1)
  (table (export "__indirect_function_table") 5 funcref)
  (elem (i32.const 1) $start $on_ack $on_congestion $probe)

  ;; abi_version, size, state_size, flags, parameter_count, probe_count
  (data (i32.const 1024) "\01\00\00\00" "\54\00\00\00" "\18\00\00\00" "\00\00\00\00" "\02\00\00\00" "\01\00\00\00")
  ;; parameters, probes; start, on_ack, on_congestion
  (data (i32.const 1048) "\00\05\00\00" "\80\05\00\00" "\01\00\00\00" "\02\00\00\00" "\03\00\00\00")
  ;; probe, behind seven functions that are null
  (data (i32.const 1096) "\04\00\00\00")
  ;; name, unit, initial, minimum, maximum
  (data (i32.const 1280) "\00\06\00\00" "\20\06\00\00"
    "\00\00\00\00\00\00\f0\3f" "\00\00\00\00\00\00\00\00" "\00\00\00\00\00\00\f0\7f")
  (data (i32.const 1312) "\10\06\00\00" "\22\06\00\00"
    "\00\00\00\00\00\00\e0\3f" "\00\00\00\00\00\00\00\00" "\00\00\00\00\00\00\f0\3f")
  (data (i32.const 1408) "\30\06\00\00")
  (data (i32.const 1536) "increase\00")
  (data (i32.const 1552) "decrease\00")
  (data (i32.const 1568) "s\00-\00")
  (data (i32.const 1584) "losses\00")

  (func (export "dumbbell_library") (result i32) (i32.const 1024))

  (func $start (param $state i32) (param $setup i32) (param $parameters i32) (param $window i32)
    (f64.store (local.get $state) (f64.load (local.get $parameters)))
    (f64.store offset=8 (local.get $state) (f64.load offset=8 (local.get $parameters))))

  (func $on_ack (param $state i32) (param $connection i32) (param $ack i32) (param $window i32)
    (local $cwnd f64) (local $mss f64) (local $limit f64) (local $growth f64)
    ;; in on_ack
    (local.set $cwnd (f64.load (local.get $window)))
    (local.set $mss (f64.load offset=8 (local.get $connection)))
    (local.set $limit (f64.load offset=56 (local.get $connection)))
    (if (i32.load offset=76 (local.get $ack)) (then (return)))
    (if (f64.ge (local.get $cwnd) (local.get $limit)) (then (return)))
    (local.set $growth (local.get $mss))
    (if (f64.ge (local.get $cwnd) (f64.load offset=8 (local.get $window)))
      (then
        (local.set $growth
          (f64.div (local.get $mss)
            (f64.div (local.get $cwnd) (f64.mul (local.get $mss) (f64.load (local.get $state))))))))
    (f64.store (local.get $window)
      (f64.min (f64.add (local.get $cwnd) (local.get $growth)) (local.get $limit))))

  (func $on_congestion (param $state i32) (param $connection i32) (param $congestion i32) (param $window i32)
    (local $least f64) (local $rest f64) (local $most f64)
    ;; in on_congestion
    (local.set $least (f64.mul (f64.const 2) (f64.load offset=8 (local.get $connection))))
    (local.set $rest
      (f64.max (local.get $least)
        (f64.mul (f64.load offset=32 (local.get $connection)) (f64.load offset=8 (local.get $state)))))
    (local.set $most (f64.max (f64.load (local.get $window)) (local.get $least)))
    (f64.store offset=8 (local.get $window) (f64.min (local.get $rest) (local.get $most)))
    (f64.store (local.get $window)
      (f64.min (local.get $most)
        (select (f64.load offset=64 (local.get $connection)) (local.get $rest)
          (i32.load offset=4 (local.get $congestion)))))
    (f64.store offset=16 (local.get $state) (f64.add (f64.const 1) (f64.load offset=16 (local.get $state)))))

  (func $probe (param $state i32) (param $index i32) (result f64) (f64.load offset=16 (local.get $state))))
