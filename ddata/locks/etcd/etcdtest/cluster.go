package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/coterie-go/coterie/proptest/ports"
)

// startLimit is how long the start of a cluster may take.
const startLimit = time.Minute

// Cluster is an etcd cluster that runs until its test ends.
type Cluster struct {
	Members []*Server
}

// Start starts a cluster of so many members for one test. Options are added to the command line of
// each. Without etcd the test is skipped, or fails if Required.
func Start(t testing.TB, members int, options ...string) *Cluster {
	t.Helper()
	return startCluster(t, members, "http", options)
}

// StartTLS starts a cluster as Start does, that takes only clients with a certificate of an authority.
func StartTLS(t testing.TB, members int, ca *CA) *Cluster {
	t.Helper()
	return startCluster(t, members, "https", ca.options(t))
}

func startCluster(t testing.TB, members int, scheme string, options []string) *Cluster {
	t.Helper()
	c, err := newCluster(t.TempDir(), members, scheme, options)
	if errors.Is(err, ErrMissing) && !Etcd.Required() {
		t.Skip("NOT TRIED:", err) // skip: the machine may lack etcd; the variable makes it a failure
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range c.Members {
			m.Kill()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	started := make(chan error, members)
	for _, m := range c.Members {
		go func() { started <- m.Start(ctx) }()
	}
	for range c.Members {
		err = errors.Join(err, <-started)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newCluster makes the members. The scheme is that of the clients.
func newCluster(dir string, members int, scheme string, options []string) (*Cluster, error) {
	bin, err := Etcd.Find()
	if err != nil {
		return nil, err
	}
	addrs, err := ports.Free(2 * members)
	if err != nil {
		return nil, err
	}
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf("m%d=http://%s", i, addrs[members+i]))
	}
	c := &Cluster{}
	for i := range members {
		name, client, peer := fmt.Sprint("m", i), scheme+"://"+addrs[i], "http://"+addrs[members+i]
		c.Members = append(c.Members, &Server{addr: addrs[i], bin: bin, args: append([]string{
			"--name=" + name, "--data-dir=" + filepath.Join(dir, name),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + strings.Join(all, ","), "--initial-cluster-token=" + filepath.Base(dir),
			"--heartbeat-interval=100", "--election-timeout=600", "--logger=zap", "--log-outputs=stderr",
		}, options...)})
	}
	return c, nil
}

// Addrs returns where the members take clients.
func (c *Cluster) Addrs() (addrs []string) {
	for _, m := range c.Members {
		addrs = append(addrs, m.Addr())
	}
	return addrs
}

// Leader returns the member that leads, as the members say.
func (c *Cluster) Leader(ctx context.Context, client *clientv3.Client) (*Server, error) {
	for _, m := range c.Members {
		st, err := client.Status(ctx, m.Addr())
		if err != nil {
			return nil, err
		}
		if st.Leader == st.Header.MemberId {
			return m, nil
		}
	}
	return nil, errors.New("etcdtest: no member leads")
}

// Dial makes a client of some addresses, which is closed when the test ends: after what the test
// cleans up that it has begun later. Changes may be made to its settings.
func Dial(t testing.TB, addrs []string, changes ...func(*clientv3.Config)) *clientv3.Client {
	t.Helper()
	cfg := clientv3.Config{Endpoints: addrs, Logger: zap.NewNop()}
	for _, change := range changes {
		change(&cfg)
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // a test may have closed it
	return client
}
