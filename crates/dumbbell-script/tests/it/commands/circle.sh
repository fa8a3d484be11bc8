./circle.sh
