package ports_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/coterie-go/coterie/proptest/ports"
)

// Each address is another one, however many are chosen, free, and none that Linux gives to others.
func TestFree(t *testing.T) {
	const ephemeral = 32_768
	addrs, err := ports.Free(300)
	if err != nil || len(addrs) != 300 {
		t.Fatalf("%d addresses: %v", len(addrs), err)
	}
	seen := map[string]bool{}
	for _, addr := range addrs {
		if seen[addr] {
			t.Errorf("%s is chosen twice", addr)
		}
		seen[addr] = true
		_, port, _ := net.SplitHostPort(addr)
		if n, err := strconv.Atoi(port); err != nil || n >= ephemeral {
			t.Errorf("%s is a port that outgoing connections take", addr)
		}
	}
	l, err := net.Listen("tcp", addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
