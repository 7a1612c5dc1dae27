package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// deafNetwork never connects: each attempt lasts as long as it may. It says how long that is.
type deafNetwork struct {
	Network
	may chan time.Duration
}

func (d deafNetwork) Dial(ctx context.Context, _ string) (net.Conn, error) {
	end, _ := ctx.Deadline()
	select {
	case d.may <- time.Until(end):
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// An attempt to connect ends after DialTimeout, is told, and is followed by another.
func TestDialTimeout(t *testing.T) {
	d := deafNetwork{TCP(), make(chan time.Duration)}
	faults := make(chan ConnectionFault, 100)
	m, err := Listen(t.Context(), Config{
		Cluster: "c", Self: 1, Bind: "127.0.0.1:0",
		Network: d, DialTimeout: 50 * time.Millisecond, BackoffMax: 20 * time.Millisecond,
		OnEvent: onEvent(func(f ConnectionFault) {
			select {
			case faults <- f:
			default:
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.AddPeer(9, "10.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if may := <-d.may; may > 50*time.Millisecond {
			t.Errorf("an attempt may last %v", may)
		}
	}
	if f := <-faults; f.Kind != FaultDial || f.Peer != 9 || f.Addr != "10.0.0.1:1" ||
		!errors.Is(f.Err, context.DeadlineExceeded) || f.Refused {
		t.Errorf("told %v, refused %t", f, f.Refused)
	}
}

// A machine that answers and has no such process is told from one that does not answer: nothing listens
// there, or another incarnation does.
func TestRefusedAttempts(t *testing.T) {
	faults := make(chan ConnectionFault, 100)
	listen := func(self NodeID, tell func(Event)) *Mesh {
		m, err := Listen(t.Context(), Config{
			Cluster: "c", Self: self, Bind: "127.0.0.1:0", BackoffMax: 20 * time.Millisecond, OnEvent: tell,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	other := listen(2, nil)
	m := listen(1, onEvent(func(f ConnectionFault) {
		if f.Peer == 9 {
			select {
			case faults <- f:
			default:
			}
		}
	}))
	defer m.Close()
	if err := m.AddPeer(9, other.Addr()); err != nil {
		t.Fatal(err)
	}
	if f := <-faults; !f.Refused || f.Kind != FaultDial {
		t.Errorf("another incarnation: told %v, refused %t", f, f.Refused)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for f := range faults {
		if errors.Is(f.Err, syscall.ECONNREFUSED) {
			if !f.Refused {
				t.Errorf("no process: told %v", f)
			}
			break
		}
	}
	m.RemovePeer(9)
}
