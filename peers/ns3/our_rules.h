// Congestion controls of ns-3 that follow Dumbbell's rule where ns-3 has another, one attribute for each rule. With all of
// them off they are ns-3's own.

#pragma once

#include "ns3/boolean.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-westwood.h"

#include <algorithm>

namespace our_rules
{

using namespace ns3;

class Westwood : public TcpWestwood
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("our_rules::Westwood")
                                 .SetParent<TcpWestwood>()
                                 .AddConstructor<Westwood>()
                                 .AddAttribute("SmallestRtt",
                                               "The smallest sample of a segment's round-trip time.",
                                               BooleanValue(false),
                                               MakeBooleanAccessor(&Westwood::m_smallestRtt),
                                               MakeBooleanChecker())
                                 .AddAttribute("Samples",
                                               "Each segment counts once, over the time that its interval took.",
                                               BooleanValue(false),
                                               MakeBooleanAccessor(&Westwood::m_samples),
                                               MakeBooleanChecker());
        return type;
    }

    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segments, const Time& rtt) override
    {
        Measure(tcb);
        if (!m_samples)
        {
            TcpWestwood::PktsAcked(tcb, segments, rtt);
            return;
        }
        Time now = Simulator::Now();
        if (m_begun.IsNegative())
        {
            m_begun = now;
            m_acked = tcb->m_lastAckedSeq;
            return;
        }
        m_delivered += Told(tcb);
        if (now > m_begun && now - m_begun >= m_smoothed)
        {
            m_currentBW = DataRate(static_cast<uint64_t>(m_delivered * 8.0 / (now - m_begun).GetSeconds()));
            m_begun = now;
            m_delivered = 0;
        }
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override
    {
        if (!m_smallestRtt || m_rtt.IsZero())
        {
            return TcpWestwood::GetSsThresh(tcb, bytesInFlight);
        }
        auto product = static_cast<uint32_t>((m_currentBW.Get() * m_smallest) / 8.0);
        return std::max(2 * tcb->m_segmentSize, product);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<Westwood>(this);
    }

  private:
    /// What is smoothed tells of each sample: a new one moves it by an eighth of its distance. The first was that of the
    /// SYN, unless it was sent twice or took longer than the first segment.
    void Measure(const Ptr<const TcpSocketState>& tcb)
    {
        if (m_rtt.IsZero())
        {
            m_rtt = tcb->m_minRtt;
            m_smallest = m_rtt == tcb->m_lastRtt ? m_rtt : Time::Max();
        }
        if (m_rtt != tcb->m_lastRtt)
        {
            Time sample = m_rtt + 8 * (tcb->m_lastRtt - m_rtt);
            m_smallest = std::min(m_smallest, sample);
            m_smoothed = m_smoothed.IsZero() ? sample : m_smoothed + (sample - m_smoothed) / 8;
            m_rtt = tcb->m_lastRtt;
        }
    }

    /// Bytes that an acknowledgement tells of: a segment by each duplicate, and what no duplicate has told of by others.
    double Told(const Ptr<const TcpSocketState>& tcb)
    {
        double mss = tcb->m_segmentSize;
        double acked = static_cast<double>(tcb->m_lastAckedSeq - m_acked);
        m_acked = tcb->m_lastAckedSeq;
        if (acked == 0)
        {
            m_told += mss;
            return mss;
        }
        if (acked <= mss)
        {
            return acked;
        }
        if (m_told >= acked)
        {
            m_told -= acked;
            return mss;
        }
        acked -= m_told;
        m_told = 0;
        return acked;
    }

    bool m_smallestRtt = false;
    bool m_samples = false;
    Time m_rtt{0};
    // Smallest and smoothed time of the samples of segments.
    Time m_smallest = Time::Max();
    Time m_smoothed{0};
    Time m_begun{-1};
    SequenceNumber32 m_acked{0};
    double m_delivered = 0;
    double m_told = 0;
};

NS_OBJECT_ENSURE_REGISTERED(Westwood);

} // namespace our_rules
