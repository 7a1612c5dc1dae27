package etcd

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

// An Acquire that waits for its turn when Release is called does not acquire later, whether Release
// gets a turn or gives up.
func TestReleaseEndsTheAcquireThatWaits(t *testing.T) {
	lockstest.ReleaseEndsWaiting(t, func(t *testing.T) (locks.Lock, func()) {
		s := &Store{client: clientv3.NewCtxClient(t.Context()), timeout: time.Minute}
		l, err := s.Lock("x", "me")
		if err != nil {
			t.Fatal(err)
		}
		_, leave, err := l.(*lease).Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l, leave
	})
}
