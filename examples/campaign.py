"""A campaign from Python: two algorithms at three buffer sizes, made once; run again, it runs nothing."""

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
flows = campaign.frame("flows")
of_a = flows[flows["name"] == "a"].groupby(["flows.a.tcp", "links.r1-r2.queue.limit"])["goodput_bps"]
print((of_a.agg(["mean", "std"]) / 1e3).round().add_suffix(" (kbit/s)"))
