package etcd_test

import (
	"crypto/tls"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
)

func with(c *tls.Config) func(*clientv3.Config) {
	return func(all *clientv3.Config) { all.TLS = c }
}

// A client with the right certificates has leases, also when its connections go dead.
func TestTLS(t *testing.T) {
	t.Parallel()
	const ttl = 3
	ca, lines := etcdtest.NewCA(t), newLines(t)
	addrs := etcdtest.StartTLS(t, 1, ca).Addrs()
	l := drill.Door(t, open(t, "p", ttl, addrs, with(ca.Client(t, "node")), lines.option), "me")
	lost := drill.Acquire(t, l)
	if err := l.Save(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
	lines.die(addrs)
	drill.Renewed(t, l, ttl*time.Second)
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

// A client and an etcd that do not agree on TLS are told what is wrong.
func TestWrongTLS(t *testing.T) {
	t.Parallel()
	ca := etcdtest.NewCA(t)
	secure, plain := etcdtest.StartTLS(t, 1, ca).Addrs(), etcdtest.Start(t, 1).Addrs()
	good, unsigned := ca.Client(t, "node"), ca.Client(t, "node")
	unsigned.Certificates = nil
	stranger := ca.Client(t, "node")
	stranger.Certificates = etcdtest.NewCA(t).Client(t, "node").Certificates
	for name, c := range map[string]struct {
		addrs        []string
		tls          *tls.Config
		says, remedy string
	}{
		"another authority": {
			secure, etcdtest.NewCA(t).Client(t, "node"), "x509: certificate signed by unknown authority", "RootCAs",
		},
		"no certificate":           {secure, unsigned, "Unavailable", "certificates"},
		"a certificate of another": {secure, stranger, "Unavailable", "certificates"},
		"only the client uses TLS": {plain, good, "handshake failed", "set TLS only if etcd uses it"},
		"only the server uses TLS": {secure, nil, "server preface", "TLS settings of the client"},
	} {
		t.Run(name, func(t *testing.T) {
			client := etcdtest.Dial(t, c.addrs, with(c.tls))
			_, err := etcd.Open(t.Context(), client, etcd.Config{Prefix: "p", Timeout: time.Second})
			says(t, err, locks.ErrUnusable, c.says)
			says(t, err, locks.ErrUnusable, c.remedy)
		})
	}
}
