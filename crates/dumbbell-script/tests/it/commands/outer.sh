#!/bin/bash
# Settings of a test.
sysctl -q net.ipv4.tcp_ecn=0
./inner.sh
