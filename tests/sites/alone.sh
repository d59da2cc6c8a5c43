# For `unshare -rnm bash tests/sites/alone.sh FOLDER`: a network with loopback alone, and its names.
set -e
ip link set lo up
for address in 10.1.2.3 169.254.169.254 172.16.0.1 192.168.1.1 100.64.0.1; do
    ip addr add $address/32 dev lo
done
for address in fc00::1 fd12:3456::1 64:ff9b::7f00:1 2002:7f00:1:: 2001:db8::1; do
    ip -6 addr add $address/128 dev lo nodad
done
mount --bind "$1/hosts" /etc/hosts
exec "$PYTHON" -m tests.sites.alone "$1"
