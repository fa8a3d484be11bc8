"""A campaign from Python: two algorithms at three buffer sizes, made once and asked with SQL; run again, it runs nothing."""

import sys
from pathlib import Path

from dumbbell import Campaign

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/campaigns/example")
campaign = Campaign(
    base=Path(__file__).with_name("campaign") / "two-flows.toml",
    axes={
        "flows.a.tcp": ["vegas", "reno"],
        "links.r1-r2.queue.limit": ["10 packets", "25 packets", "50 packets"],
    },
    runs=10,
    store=folder,
)
print(campaign.status())
campaign.run()
print(
    campaign.sql(
        """
        select "flows.a.tcp" as tcp, "links.r1-r2.queue.limit" as queue_limit,
               round(avg(goodput_bps) / 1e3) as mean_kbps, round(stddev(goodput_bps) / 1e3) as std_kbps
        from flows where name = 'a' group by all order by all
        """
    )
)
