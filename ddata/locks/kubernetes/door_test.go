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
