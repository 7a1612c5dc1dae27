package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// line is the connection of renewals. It is the client's until a renewal fails. Then it is a new one,
// to one endpoint after the other, and the client's again: a connection that leads nowhere lasts in
// the client until a keepalive fails, and without one for many minutes.
type line struct {
	client *clientv3.Client

	mu      sync.Mutex
	own     *grpc.ClientConn // nil: the client's is used
	next    int              // endpoint to dial; one beyond the last stands for the client's
	dialing bool
	ended   bool
}

// newLine returns a line that ends with the client.
func newLine(client *clientv3.Client) *line {
	l := &line{client: client}
	context.AfterFunc(client.Ctx(), l.end)
	return l
}

// wire is a connection as a renewal uses it.
type wire struct {
	conn *grpc.ClientConn
	kv   clientv3.KV
	own  bool // it is not the client's
}

// get returns the present connection.
func (l *line) get() wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		return wire{conn: l.client.ActiveConnection(), kv: l.client.KV}
	}
	return wire{conn: l.own, kv: clientv3.NewKVFromKVClient(pb.NewKVClient(l.own), l.client), own: true}
}

// replace has another connection take the place of one that has failed, soon. It does not wait: the
// options of the client may make dialling wait for the server.
func (l *line) replace(failed wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialing || l.ended || failed.own != (l.own != nil) || failed.own && failed.conn != l.own {
		return
	}
	endpoints := l.client.Endpoints()
	if l.next >= len(endpoints) {
		l.next = 0
		l.installLocked(nil)
		return
	}
	endpoint := endpoints[l.next]
	l.next++
	l.dialing = true
	go func() {
		conn, err := l.client.Dial(endpoint)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dialing = false
		if err == nil {
			l.installLocked(conn)
		}
	}()
}

// installLocked makes a connection the present one, or closes it if the client was closed.
func (l *line) installLocked(conn *grpc.ClientConn) {
	if l.own != nil {
		_ = l.own.Close()
	}
	if l.ended && conn != nil {
		_ = conn.Close()
		conn = nil
	}
	l.own = conn
}

func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.installLocked(nil)
}
