package measure

import (
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A Mailbox takes what several senders tell, and ends with all of it handled.
func TestMailbox(t *testing.T) {
	m, left := NewMailbox[int](), atomic.Int64{}
	done := make(chan struct{})
	left.Store(4)
	for range 4 {
		go func() {
			for i := range 1000 {
				m.Tell(i)
			}
			if left.Add(-1) == 0 {
				close(done)
			}
		}()
	}
	<-done
	if err := m.Settle(); err != nil || len(m.queue) > 0 {
		t.Errorf("%v, %d messages are left", err, len(m.queue))
	}
}
