package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	first     = 20_000
	blockSize = 250
	blocks    = 40
	ownMax    = 4
)

var own struct {
	sync.Mutex
	guards []net.Listener // each on the first port of a block that no other process uses while it listens
	used   int            // of the ports of these blocks, in order, in this round
}

// Free returns n different addresses of the loopback device at which no process listens. No other
// call returns them, in this process before it has gone through its blocks. It fails when this
// machine has none to give. Several goroutines may call it.
func Free(n int) (addrs []string, err error) {
	own.Lock()
	defer own.Unlock()
	for range ownMax * blockSize {
		if len(addrs) == n {
			return addrs, nil
		}
		port, err := next()
		if err != nil {
			return nil, err
		}
		if l, err := listen(port); err == nil {
			defer l.Close() // when all are chosen
			addrs = append(addrs, l.Addr().String())
		}
	}
	return nil, fmt.Errorf("ports: %d free ports are wanted, a process has no more than %d at once", n, len(addrs))
}

// next returns a port of this process's blocks. It takes a further block when all ports were
// returned, and begins again with the first when it has enough of them.
func next() (int, error) {
	if own.used == len(own.guards)*(blockSize-1) && len(own.guards) < ownMax {
		if err := take(); err != nil && len(own.guards) == 0 {
			return 0, err
		}
	}
	own.used %= len(own.guards) * (blockSize - 1)
	guard := own.guards[own.used/(blockSize-1)].Addr().(*net.TCPAddr)
	port := guard.Port + 1 + own.used%(blockSize-1)
	own.used++
	return port, nil
}

// take adds a block that no other process has.
func take() (err error) {
	for _, b := range rand.Perm(blocks) {
		var guard net.Listener
		if guard, err = listen(first + b*blockSize); err == nil {
			own.guards = append(own.guards, guard)
			return nil
		}
	}
	return errors.Join(fmt.Errorf("ports: all %d blocks of ports are taken", blocks), err)
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
