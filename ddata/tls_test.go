package ddata_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

// A cluster with certificates works as one without. A node with no certificate, or one of another
// authority, does not get in and is told why, and the cluster goes on.
func TestOnlyCertifiedNodesGetIn(t *testing.T) {
	ours, theirs := pkitest.NewAuthority(t), pkitest.NewAuthority(t)
	addrs := freeAddrs(t, 3)
	secured := func(i int, tls transport.TLS) ddata.Config {
		c := config(addrs[i], addrs[:2], 2)
		c.TLS = tls
		return c
	}
	nodes := startAll(t, secured(0, ours.Identity(pkitest.Node{})), secured(1, ours.Identity(pkitest.Node{})))
	for name, c := range map[string]struct { // order: each is tried by itself
		tls  transport.TLS
		says string
	}{
		"of another authority": {theirs.Identity(pkitest.Node{}), "unknown authority"},
		"without TLS":          {nil, "one side uses TLS"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		n, err := ddata.Start(ctx, secured(2, c.tls))
		cancel()
		if err == nil {
			_ = n.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "Config.TLS") {
			t.Errorf("%s: started with %v", name, err)
		}
	}
	ctx := testContext(t)
	if err := ddata.Update(ctx, replica(t, nodes[0]), names, ddata.WriteAll, add("x")); err != nil {
		t.Error(err)
	}
	if got := len(nodes[0].Members()); got != 2 {
		t.Errorf("%d members", got)
	}
}
