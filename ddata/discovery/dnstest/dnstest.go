package dnstest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Server answers from its records. A name without any does not exist.
type Server struct {
	addr string

	mu      sync.Mutex
	records map[string][]dns.RR // by name, with its last dot
	rcode   int
	asked   int
}

// Start runs a server on loopback until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s, stop, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// Listen runs a server at an address, host:port, until stop is called.
func Listen(addr string) (s *Server, stop func(), err error) {
	packets, streams, err := listen(addr)
	if err != nil {
		return nil, nil, err
	}
	s = &Server{addr: packets.LocalAddr().String(), records: map[string][]dns.RR{}}
	var stops []func()
	for _, d := range []*dns.Server{{PacketConn: packets, Handler: s}, {Listener: streams, Handler: s}} {
		started, ended := make(chan struct{}), make(chan error, 1)
		d.NotifyStartedFunc = func() { close(started) }
		go func() { ended <- d.ActivateAndServe() }()
		<-started
		stops = append(stops, func() {
			_ = d.Shutdown()
			<-ended
		})
	}
	return s, func() {
		for _, f := range stops {
			f()
		}
	}, nil
}

// listen takes a port for both protocols. One that is free for packets may be another's for
// streams: then the next one is tried.
func listen(addr string) (packets net.PacketConn, streams net.Listener, err error) {
	const triesMax = 100
	for range triesMax {
		if packets, err = net.ListenPacket("udp", addr); err != nil {
			return nil, nil, err
		}
		if streams, err = net.Listen("tcp", packets.LocalAddr().String()); err == nil {
			return packets, streams, nil
		}
		_ = packets.Close()
	}
	return nil, nil, err
}

// Set replaces the records of a name, given as in a zone file: Set("shop.", "A 10.0.0.1", "SRV 0 0
// 7946 a.shop."). None: the name does not exist.
func (s *Server) Set(t testing.TB, name string, records ...string) {
	t.Helper()
	if err := s.Replace(name, records...); err != nil {
		t.Fatal(err)
	}
}

// Replace is Set outside of a test.
func (s *Server) Replace(name string, records ...string) error {
	var all []dns.RR
	for _, r := range records {
		rr, err := dns.NewRR(name + " 0 IN " + r)
		if err != nil {
			return err
		}
		all = append(all, rr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[strings.ToLower(name)] = all
	return nil
}

// Fail makes every question fail with a code such as dns.RcodeServerFailure; 0 ends it.
func (s *Server) Fail(rcode int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rcode = rcode
}

// Asked counts the questions so far.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Resolver asks this server and no other.
func (s *Server) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, s.addr)
	}}
}

// ServeDNS answers one question.
func (s *Server) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	m.Authoritative = true
	s.mu.Lock()
	s.asked++
	known := s.records[strings.ToLower(q.Question[0].Name)]
	for _, rr := range known {
		if rr.Header().Rrtype == q.Question[0].Qtype {
			m.Answer = append(m.Answer, rr)
		}
	}
	if m.Rcode = s.rcode; len(known) == 0 && m.Rcode == 0 {
		m.Rcode = dns.RcodeNameError
	}
	s.mu.Unlock()
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		size := dns.MinMsgSize
		if o := q.IsEdns0(); o != nil {
			size = int(o.UDPSize())
		}
		m.Truncate(size)
	}
	_ = w.WriteMsg(m)
}
