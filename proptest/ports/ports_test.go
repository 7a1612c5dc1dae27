package ports_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/coterie-go/coterie/proptest/ports"
)

// Each address is another one, however many are chosen and in however many calls at once, free, and
// none that Linux gives to others.
func TestFree(t *testing.T) {
	const ephemeral, calls, each = 32_768, 10, 60 // more than one block
	found := make(chan []string, calls)
	for range calls {
		go func() {
			addrs, err := ports.Free(each)
			if err != nil || len(addrs) != each {
				t.Errorf("%d addresses: %v", len(addrs), err)
			}
			found <- addrs
		}()
	}
	seen := map[string]bool{}
	for range calls {
		for _, addr := range <-found {
			if seen[addr] {
				t.Errorf("%s is chosen twice", addr)
			}
			seen[addr] = true
			_, port, _ := net.SplitHostPort(addr)
			if n, err := strconv.Atoi(port); err != nil || n >= ephemeral {
				t.Errorf("%s is a port that outgoing connections take", addr)
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	}
}

// A process that asks again and again gets ports that were given before and are free again, and never more
// at once than it has.
func TestFreeAgain(t *testing.T) {
	for range 20 {
		if _, err := ports.Free(200); err != nil {
			t.Fatal(err)
		}
	}
	if addrs, err := ports.Free(5000); err == nil {
		t.Errorf("%d addresses at once", len(addrs))
	}
}
