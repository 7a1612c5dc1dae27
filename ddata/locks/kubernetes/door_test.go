package kubernetes

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
	"k8s.io/client-go/rest"
)

// An Acquire that waits for its turn when Release is called does not acquire later, whether Release gets a turn
// or gives up.
func TestReleaseEndsTheAcquireThatWaits(t *testing.T) {
	lockstest.ReleaseEndsWaiting(t, func(t *testing.T) (locks.Lock, func()) {
		client, err := apiclient.New(&rest.Config{}, apiclient.Config{Namespace: "none"})
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{timeout: time.Minute, wall: time.Now, leases: client.Leases()}
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

// A machine is suspended between a renewal that it sends and the answer that it reads: the monotonic clock stands
// still, the time of day goes on. The hold is over then, as another node may have it.
func TestSuspendWhileAnAnswerIsUnderWay(t *testing.T) {
	day := time.Now()
	s := &Store{ttl: 15 * time.Second, wall: func() time.Time { return day }}
	sent, h := s.moment(), &hold{}
	day = day.Add(time.Minute)
	h.extend(sent, s)
	if h.lasts(s) {
		t.Error("a renewal that was sent a minute ago makes a hold that lasts")
	}
	h.extend(s.moment(), s)
	if !h.lasts(s) {
		t.Error("the next renewal makes no hold that lasts")
	}
}
