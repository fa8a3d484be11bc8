// Runs one scenario in ns-3 and prints what it observed.
//
// The scenario comes on the standard input, one statement a line, in the order of use: nodes before links, links before
// routes, attributes before the flow they are for. Times are nanoseconds, sizes bytes, nodes, links and flows numbers
// from 0. The observations go to the standard output in the same manner.

#include "our_rules.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

int64_t g_windowStart = 0;
int64_t g_windowEnd = 0;

// Rules of ours in all sockets: each partial acknowledgement restarts the timer; a timeout forgets what was reported.
bool g_restartsTimer = false;
bool g_forgetsReports = false;

/// Names what a socket keeps to itself.
struct Opened : TcpSocketBase
{
    static constexpr auto AwaitsFirstPartialAck()
    {
        return &Opened::m_isFirstPartialAck;
    }
};

// Whether what passes the links is counted and may be lost there; without it a run costs what ns-3 itself costs.
bool g_counts = true;

int64_t
Clock()
{
    return Simulator::Now().GetNanoSeconds();
}

bool
InWindow()
{
    return Clock() >= g_windowStart && Clock() < g_windowEnd;
}

/// The part of a span that lies in the measurement window.
int64_t
Within(int64_t from, int64_t to)
{
    return std::max<int64_t>(0, std::min(to, g_windowEnd) - std::max(from, g_windowStart));
}

/// Values over time; nothing is kept unless it is wanted.
struct Trace
{
    bool wanted = false;
    std::vector<std::pair<int64_t, double>> values;

    void Record(double value)
    {
        if (wanted)
        {
            values.emplace_back(Clock(), value);
        }
    }
};

/// Loss in bad periods: at the end of each dwell the next state is drawn.
struct TwoState
{
    int64_t good = 0;
    int64_t bad = 0;
    double loss = 0.0;
    double goodLoss = 0.0;
    double change = 0.0;
    std::string clock;
    bool isBad = false;
    int64_t until = 0;

    int64_t Dwell() const
    {
        return isBad ? bad : good;
    }

    /// The probability that a packet is lost whose transmission ends at a time.
    double At(int64_t now, const Ptr<UniformRandomVariable>& random)
    {
        while (now >= until)
        {
            bool wasBad = isBad;
            isBad = random->GetValue() < change;
            if (clock == "time")
            {
                until += Dwell();
                continue;
            }
            // Packets move the model on; with the clock "packet" a state that is drawn again is no new dwell.
            if (clock == "poll" || isBad != wasBad)
            {
                until = now + Dwell();
            }
            break;
        }
        return isBad ? loss : goodLoss;
    }
};

/// Loses packets that have crossed a link.
class Losses : public ErrorModel
{
  public:
    double probability = 0.0;
    std::set<uint64_t> forced;
    TwoState twoState;
    int64_t delay = 0;
    uint64_t lost = 0;
    Trace* drops = nullptr;
    uint64_t* dropped = nullptr;
    Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();

  private:
    uint64_t m_data = 0;

    /// As in ours, what opens a connection and what acknowledges is no data.
    static bool CountsAsData(Ptr<const Packet> packet)
    {
        // Without payload there are at most 2 + 20 + 60 bytes of headers.
        return packet->GetSize() > 82;
    }

    bool DoCorrupt(Ptr<Packet> packet) override
    {
        bool strikes = false;
        if (!forced.empty() && CountsAsData(packet))
        {
            strikes = forced.count(++m_data) > 0;
        }
        strikes = strikes || (probability > 0.0 && random->GetValue() < probability);
        if (!twoState.clock.empty())
        {
            strikes = strikes || random->GetValue() < twoState.At(Clock() - delay, random);
        }
        if (strikes)
        {
            lost += InWindow();
            drops->Record(static_cast<double>(++*dropped));
        }
        return strikes;
    }

    void DoReset() override
    {
    }
};

struct Link
{
    // At the sending and at the receiving end, each with the number of its interface.
    Ptr<PointToPointNetDevice> device;
    Ptr<PointToPointNetDevice> receiver;
    uint32_t interface;
    uint32_t receiverInterface;
    Ptr<Queue<Packet>> queue;
    Ptr<Losses> losses;
    uint32_t from;
    uint32_t to;
    int64_t delay;
    // Another link goes back over the same channel.
    bool isPaired = false;
    DataRate rate;
    // What the queue had counted when the window began, and has in it.
    uint64_t offered = 0;
    uint64_t droppedByQueue = 0;
    int64_t busy = 0;
    uint32_t waiting = 0;
    uint32_t waitingMost = 0;
    int64_t waitingSince = 0;
    double waited = 0.0;
    uint64_t dropped = 0;
    Trace backlog;
    Trace drops;

    void OnTransmission(Ptr<const Packet> packet)
    {
        int64_t now = Clock();
        busy += Within(now, now + rate.CalculateBytesTxTime(packet->GetSize()).GetNanoSeconds());
    }

    // A packet passes through the queue even if the transmitter is idle, so only what lasts counts.
    void OnBacklog(uint32_t, uint32_t now)
    {
        Account();
        waiting = now;
        if (backlog.wanted && !backlog.values.empty() && backlog.values.back().first == Clock())
        {
            backlog.values.pop_back();
        }
        backlog.Record(now);
    }

    void OnDrop(Ptr<const Packet>)
    {
        drops.Record(static_cast<double>(++dropped));
    }

    void Account()
    {
        int64_t span = Within(waitingSince, Clock());
        if (span > 0)
        {
            waited += static_cast<double>(span) * waiting;
            waitingMost = std::max(waitingMost, waiting);
        }
        waitingSince = Clock();
    }

    uint64_t Offered() const
    {
        return uint64_t{queue->GetTotalReceivedPackets()} + queue->GetTotalDroppedPacketsBeforeEnqueue();
    }

    void BeginWindow()
    {
        offered = Offered();
        droppedByQueue = queue->GetTotalDroppedPacketsBeforeEnqueue();
    }

    void EndWindow()
    {
        Account();
        offered = Offered() - offered;
        droppedByQueue = queue->GetTotalDroppedPacketsBeforeEnqueue() - droppedByQueue;
    }
};

struct Flow
{
    Ptr<TcpSocketBase> socket;
    InetSocketAddress to{uint16_t{0}};
    uint32_t segment;
    uint64_t size;
    // So much lies ready in the send buffer beyond what has been sent.
    uint64_t ahead;
    bool stopped = false;
    bool awaited = false;
    uint64_t written = 0;
    uint64_t sentUpTo = 0;
    uint64_t sent = 0;
    uint64_t resent = 0;
    uint64_t timeouts = 0;
    uint64_t delivered = 0;
    uint64_t deliveredInWindow = 0;
    int64_t lastDelivery = -1;
    int64_t completed = -1;
    bool connected = false;
    Trace cwnd;
    Trace ssthresh;
    Trace seqSent;
    Trace seqAcked;
    Trace deliveries;

    void Start()
    {
        socket->Connect(to);
    }

    void Stop()
    {
        stopped = true;
    }

    void OnConnected(Ptr<Socket>)
    {
        connected = true;
        Fill();
    }

    void Fill()
    {
        if (!connected || stopped || 2 * (written - sentUpTo) > ahead)
        {
            return;
        }
        uint64_t room = std::min<uint64_t>(socket->GetTxAvailable(), ahead - (written - sentUpTo));
        uint64_t rest = size - written;
        uint64_t bytes = rest <= room ? rest : room - room % segment;
        if (bytes > 0 && socket->Send(Create<Packet>(bytes), 0) > 0)
        {
            written += bytes;
        }
    }

    void OnRoom(Ptr<Socket>, uint32_t)
    {
        Fill();
    }

    void OnSent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        uint32_t bytes = packet->GetSize();
        if (bytes == 0)
        {
            return;
        }
        // Payload begins at sequence number 1; numbers wrap after 4 GiB.
        uint32_t expected = static_cast<uint32_t>(sentUpTo + 1);
        int32_t ahead32 = static_cast<int32_t>(header.GetSequenceNumber().GetValue() - expected);
        uint64_t begin = sentUpTo + ahead32;
        sent += InWindow();
        if (begin < sentUpTo)
        {
            resent += InWindow();
        }
        sentUpTo = std::max(sentUpTo, begin + bytes);
        seqSent.Record(static_cast<double>(begin));
    }

    void OnAcked(SequenceNumber32, SequenceNumber32 now)
    {
        uint32_t behind = static_cast<uint32_t>(sentUpTo + 1) - now.GetValue();
        uint64_t acked = sentUpTo - behind;
        seqAcked.Record(static_cast<double>(acked));
        if (completed < 0 && acked >= size)
        {
            completed = Clock();
            OnCompleted();
        }
    }

    void OnTimeout(Time before, Time now)
    {
        // Nothing but an expiry doubles the timeout exactly.
        bool expired = connected && now > before && now == std::min(before + before, Seconds(60));
        timeouts += expired && InWindow();
        if (expired && g_forgetsReports)
        {
            socket->GetTxBuffer()->SetSentListLost(true);
        }
    }

    void OnArrival(Ptr<const Packet>, const TcpHeader&, Ptr<const TcpSocketBase>)
    {
        (*socket).*Opened::AwaitsFirstPartialAck() = true;
    }

    void OnCwnd(uint32_t, uint32_t now)
    {
        cwnd.Record(now);
    }

    void OnSsthresh(uint32_t, uint32_t now)
    {
        ssthresh.Record(now);
    }

    void OnAccepted(Ptr<Socket> accepted, const Address&)
    {
        accepted->SetRecvCallback(MakeCallback(&Flow::OnReceived, this));
    }

    void OnReceived(Ptr<Socket> accepted)
    {
        uint64_t bytes = 0;
        while (Ptr<Packet> packet = accepted->Recv())
        {
            bytes += packet->GetSize();
        }
        delivered += bytes;
        if (InWindow())
        {
            deliveredInWindow += bytes;
            lastDelivery = Clock();
        }
        deliveries.Record(static_cast<double>(delivered));
    }

    static void OnCompleted();
};

std::vector<std::unique_ptr<Link>> g_links;
std::vector<std::unique_ptr<Flow>> g_flows;

void
Flow::OnCompleted()
{
    bool waits = false;
    bool any = false;
    for (const auto& flow : g_flows)
    {
        any = any || flow->awaited;
        waits = waits || (flow->awaited && flow->completed < 0);
    }
    if (any && !waits)
    {
        Simulator::Stop();
    }
}

Ipv4Address
AddressOf(uint32_t node)
{
    return Ipv4Address(0x0a000001 + node);
}

/// Gives a node an interface with its address; the address says nothing of a network, so only stated routes exist.
uint32_t
AddInterface(Ptr<Node> node, Ptr<PointToPointNetDevice> device)
{
    device->SetAddress(Mac48Address::Allocate());
    node->AddDevice(device);
    Ptr<Ipv4> ipv4 = node->GetObject<Ipv4>();
    uint32_t interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(AddressOf(node->GetId()), Ipv4Mask::GetOnes()));
    ipv4->SetUp(interface);
    return interface;
}

void
AddLink(const NodeContainer& nodes, std::istream& in)
{
    auto link = std::make_unique<Link>();
    uint64_t rate;
    std::string limit;
    in >> link->from >> link->to >> rate >> link->delay >> limit;
    link->rate = DataRate(rate);
    // A channel has one delay for both ways: a link back with the same delay shares it, another one has its own.
    auto back = std::find_if(g_links.begin(), g_links.end(), [&link](const auto& other) {
        return !other->isPaired && other->from == link->to && other->to == link->from &&
               other->delay == link->delay;
    });
    if (back != g_links.end())
    {
        (*back)->isPaired = link->isPaired = true;
        link->device = (*back)->receiver;
        link->interface = (*back)->receiverInterface;
        link->receiver = (*back)->device;
    }
    else
    {
        Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(NanoSeconds(link->delay)));
        link->device = CreateObject<PointToPointNetDevice>();
        link->receiver = CreateObject<PointToPointNetDevice>();
        link->device->Attach(channel);
        link->receiver->Attach(channel);
        link->receiver->SetQueue(CreateObject<DropTailQueue<Packet>>());
        link->interface = AddInterface(nodes.Get(link->from), link->device);
        link->receiverInterface = AddInterface(nodes.Get(link->to), link->receiver);
    }
    link->queue = CreateObject<DropTailQueue<Packet>>();
    link->queue->SetMaxSize(QueueSize(limit));
    link->device->SetDataRate(link->rate);
    link->device->SetQueue(link->queue);
    link->losses = CreateObject<Losses>();
    link->losses->delay = link->delay;
    link->losses->drops = &link->drops;
    link->losses->dropped = &link->dropped;
    link->losses->random->SetStream(static_cast<int64_t>(g_links.size()));
    if (g_counts)
    {
        link->receiver->SetReceiveErrorModel(link->losses);
        Link* self = link.get();
        link->queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Link::OnBacklog, self));
        link->queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Link::OnDrop, self));
        link->device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Link::OnTransmission, self));
    }
    g_links.push_back(std::move(link));
}

void
AddFlow(const NodeContainer& nodes, std::istream& in)
{
    auto flow = std::make_unique<Flow>();
    uint32_t from;
    uint32_t to;
    int64_t start;
    int64_t stop;
    std::string control;
    std::string recovery;
    in >> from >> to >> start >> stop >> flow->size >> flow->segment >> flow->ahead >> control >> recovery;
    auto port = static_cast<uint16_t>(1024 + g_flows.size());
    TypeId type = TypeId::LookupByName(control);
    Flow* self = flow.get();
    flow->to = InetSocketAddress(AddressOf(to), port);
    Ptr<Socket> listener = nodes.Get(to)->GetObject<TcpL4Protocol>()->CreateSocket(type);
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Flow::OnAccepted, self));
    flow->socket =
        DynamicCast<TcpSocketBase>(nodes.Get(from)->GetObject<TcpL4Protocol>()->CreateSocket(
            type, TypeId::LookupByName(recovery)));
    flow->socket->Bind(InetSocketAddress(AddressOf(from), port));
    flow->socket->SetConnectCallback(MakeCallback(&Flow::OnConnected, self),
                                     MakeNullCallback<void, Ptr<Socket>>());
    flow->socket->SetSendCallback(MakeCallback(&Flow::OnRoom, self));
    flow->socket->SetDataSentCallback(MakeCallback(&Flow::OnRoom, self));
    flow->socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::OnSent, self));
    flow->socket->TraceConnectWithoutContext("RTO", MakeCallback(&Flow::OnTimeout, self));
    if (g_restartsTimer)
    {
        flow->socket->TraceConnectWithoutContext("Rx", MakeCallback(&Flow::OnArrival, self));
    }
    Simulator::Schedule(NanoSeconds(start), &Flow::Start, self);
    if (stop >= 0)
    {
        Simulator::Schedule(NanoSeconds(stop), &Flow::Stop, self);
    }
    g_flows.push_back(std::move(flow));
}

void
AddRoute(const NodeContainer& nodes, std::istream& in)
{
    uint32_t destination;
    uint32_t index;
    in >> destination >> index;
    const Link& link = *g_links.at(index);
    Ipv4StaticRoutingHelper()
        .GetStaticRouting(nodes.Get(link.from)->GetObject<Ipv4>())
        ->AddHostRouteTo(AddressOf(destination), link.interface);
}

void
AddProbe(std::istream& in)
{
    std::string quantity;
    uint32_t index;
    in >> quantity >> index;
    if (quantity == "backlog" || quantity == "drops")
    {
        Link& link = *g_links.at(index);
        (quantity == "backlog" ? link.backlog : link.drops).wanted = true;
        return;
    }
    Flow* flow = g_flows.at(index).get();
    Trace& trace = quantity == "cwnd"        ? flow->cwnd
                   : quantity == "ssthresh"  ? flow->ssthresh
                   : quantity == "seq_sent"  ? flow->seqSent
                   : quantity == "seq_acked" ? flow->seqAcked
                                             : flow->deliveries;
    trace.wanted = true;
    if (quantity == "cwnd")
    {
        flow->socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::OnCwnd, flow));
    }
    if (quantity == "ssthresh")
    {
        flow->socket->TraceConnectWithoutContext("SlowStartThreshold",
                                                 MakeCallback(&Flow::OnSsthresh, flow));
    }
}

void
Print(const char* quantity, size_t index, const Trace& trace)
{
    if (trace.wanted)
    {
        std::cout << "trace " << quantity << ' ' << index << ' ' << trace.values.size() << '\n';
        for (const auto& [at, value] : trace.values)
        {
            std::cout << at << ' ' << value << '\n';
        }
    }
}

} // namespace

int
main()
{
    NodeContainer nodes;
    Ipv4StaticRoutingHelper routing;
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(routing);
    int64_t duration = 0;
    std::string line;
    std::string word;
    while (std::getline(std::cin, line))
    {
        std::istringstream in(line);
        in >> word;
        if (word == "run")
        {
            uint32_t seed;
            uint64_t run;
            in >> duration >> g_windowStart >> g_windowEnd >> seed >> run;
            RngSeedManager::SetSeed(seed);
            RngSeedManager::SetRun(run);
        }
        else if (word == "uncounted")
        {
            g_counts = false;
        }
        else if (word == "restarts-timer")
        {
            g_restartsTimer = true;
        }
        else if (word == "forgets-reports")
        {
            g_forgetsReports = true;
        }
        else if (word == "nodes")
        {
            uint32_t count;
            in >> count;
            nodes.Create(count);
            internet.Install(nodes);
        }
        else if (word == "link")
        {
            AddLink(nodes, in);
        }
        else if (word == "bernoulli")
        {
            in >> g_links.back()->losses->probability;
        }
        else if (word == "twostate")
        {
            TwoState& model = g_links.back()->losses->twoState;
            in >> model.good >> model.bad >> model.loss >> model.goodLoss >> model.change >> model.clock;
            model.until = model.good;
        }
        else if (word == "forced")
        {
            for (uint64_t packet; in >> packet;)
            {
                g_links.back()->losses->forced.insert(packet);
            }
        }
        else if (word == "route")
        {
            AddRoute(nodes, in);
        }
        else if (word == "attribute")
        {
            std::string name;
            std::string value;
            in >> name >> value;
            Config::SetDefault(name, StringValue(value));
        }
        else if (word == "flow")
        {
            AddFlow(nodes, in);
        }
        else if (word == "awaited")
        {
            uint32_t index;
            in >> index;
            g_flows.at(index)->awaited = true;
        }
        else if (word == "probe")
        {
            AddProbe(in);
        }
        else
        {
            std::cerr << "no statement is called " << word << '\n';
            return 2;
        }
    }
    for (const auto& flow : g_flows)
    {
        if (flow->size < UINT64_MAX || flow->seqAcked.wanted)
        {
            flow->socket->TraceConnectWithoutContext("HighestRxAck",
                                                     MakeCallback(&Flow::OnAcked, flow.get()));
        }
    }
    for (const auto& link : g_links)
    {
        Simulator::Schedule(NanoSeconds(g_windowStart), &Link::BeginWindow, link.get());
        if (g_windowEnd < duration)
        {
            Simulator::Schedule(NanoSeconds(g_windowEnd), &Link::EndWindow, link.get());
        }
    }
    Simulator::Stop(NanoSeconds(duration));
    Simulator::Run();
    int64_t end = Clock();

    std::cout.precision(17);
    for (const auto& flow : g_flows)
    {
        std::cout << "flow " << flow->deliveredInWindow << ' ' << flow->sent << ' ' << flow->resent << ' '
                  << flow->timeouts << ' ' << flow->completed << ' ' << flow->lastDelivery << '\n';
    }
    for (const auto& link : g_links)
    {
        if (g_windowEnd >= duration || end < g_windowEnd)
        {
            link->EndWindow();
        }
        std::cout << "link " << link->busy << ' ' << link->droppedByQueue << ' ' << link->losses->lost << ' '
                  << link->offered << ' ' << link->waited << ' ' << link->waitingMost << '\n';
    }
    for (size_t index = 0; index < g_flows.size(); index++)
    {
        const Flow& flow = *g_flows[index];
        Print("cwnd", index, flow.cwnd);
        Print("ssthresh", index, flow.ssthresh);
        Print("seq_sent", index, flow.seqSent);
        Print("seq_acked", index, flow.seqAcked);
        Print("delivered", index, flow.deliveries);
    }
    for (size_t index = 0; index < g_links.size(); index++)
    {
        Print("backlog", index, g_links[index]->backlog);
        Print("drops", index, g_links[index]->drops);
    }
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
    double cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
    std::cout << "end " << end << ' ' << cpu << ' ' << Simulator::GetEventCount() << '\n';
    Simulator::Destroy();
    return 0;
}
