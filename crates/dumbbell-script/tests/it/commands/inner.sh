sysctl -q net.ipv4.tcp_sack=1
