package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	first = 20_000
	count = 10_000
	tries = 1000
)

// Free returns n different addresses of the loopback device at which no process listens. It fails
// when this machine has none to give.
func Free(n int) (addrs []string, err error) {
	for try := 0; len(addrs) < n; try++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(count))))
		if err == nil {
			defer l.Close() // when all are chosen
			addrs = append(addrs, l.Addr().String())
		} else if try >= tries {
			return nil, fmt.Errorf("ports: no free port from %d to %d: %w", first, first+count-1, err)
		}
	}
	return addrs, nil
}
