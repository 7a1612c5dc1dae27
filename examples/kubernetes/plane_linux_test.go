package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/discovery/dnstest"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
	"github.com/coterie-go/coterie/proptest/nodetest"
)

// plane is a process on a host of its own, beside the pods: the name server and the API server of a cluster,
// the way of a kubelet to its pods, and clients.
type plane struct {
	names *dnstest.Server
	api   *kubetest.Server
	load  load
}

// The ports of the plane.
const (
	namesPort = "53"
	apiPort   = "6443"
)

// podRecord is what the plane tells of a pod.
type podRecord struct {
	Name, IP string
	Object   json.RawMessage // for the API
}

// runPlane is the program of the plane. It gets the address of its host.
func runPlane(_ context.Context, in []byte) (nodetest.Node, error) {
	var addr string
	if err := json.Unmarshal(in, &addr); err != nil {
		return nil, err
	}
	p := &plane{}
	var err error
	if p.names, _, err = dnstest.Listen(addr + ":" + namesPort); err != nil {
		return nil, err
	}
	p.api, err = kubetest.Listen(addr + ":" + apiPort)
	p.load.figures.counts = map[string]uint64{}
	return p, err
}

// Call carries out an order of the test.
func (p *plane) Call(ctx context.Context, name string, in []byte) (any, error) {
	switch name {
	case "pods":
		var pods []podRecord
		if err := json.Unmarshal(in, &pods); err != nil {
			return nil, err
		}
		return nil, p.tell(pods)
	case "get":
		var url string
		if err := json.Unmarshal(in, &url); err != nil {
			return nil, err
		}
		return get(ctx, url)
	case "shows":
		var order shownCertificate
		if err := json.Unmarshal(in, &order); err != nil {
			return nil, err
		}
		return nil, order.wait(ctx)
	case "endpoints":
		var hosts []string
		if err := json.Unmarshal(in, &hosts); err != nil {
			return nil, err
		}
		p.load.set(hosts)
		return nil, nil
	case "load":
		p.load.begin()
		return nil, nil
	case "rest":
		return p.load.rest()
	}
	return nil, errors.New("unknown call " + name)
}

// tell has the name server and the API server know of pods.
func (p *plane) tell(pods []podRecord) error {
	const service = "shop-nodes." + kubetest.Namespace + ".svc.cluster.local."
	var srv, hosts []string
	known := map[string]bool{}
	for _, pod := range pods {
		host := pod.Name + "." + service
		srv = append(srv, "SRV 0 0 7946 "+host)
		hosts = append(hosts, "A "+pod.IP)
		known[pod.Name] = true
		if err := p.names.Replace(host, "A "+pod.IP); err != nil {
			return err
		}
		if err := p.api.Replace("pods", pod.Name, pod.Object); err != nil {
			return err
		}
	}
	for _, name := range p.api.Names("pods") {
		if !known[name] {
			p.api.Remove("pods", name)
			if err := p.names.Replace(name + "." + service); err != nil {
				return err
			}
		}
	}
	return errors.Join(p.names.Replace("_"+nodesPort+"._tcp."+service, srv...), p.names.Replace(service, hosts...))
}

// get makes a request as a kubelet does, with a connection of its own, and returns the code and the text.
func get(ctx context.Context, url string) (answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	got, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return fmt.Sprint(got.StatusCode, " ", strings.TrimSpace(string(text))), err
}

// shownCertificate is what a pod shall show to those that dial its node.
type shownCertificate struct {
	Addr, Serial string
}

// wait dials again and again until the pod does.
func (w shownCertificate) wait(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		shown, err := w.look(ctx)
		if err == nil && shown == w.Serial {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("it shows the serial number %q, not %q: %w", shown, w.Serial, errors.Join(ctx.Err(), err))
		}
	}
}

// look returns the serial number of the certificate. It needs none of its own: a node shows its own first.
func (w shownCertificate) look(ctx context.Context) (serial string, err error) {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := d.DialContext(ctx, "tcp", w.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

const (
	clients  = 8
	counters = 60
)

// figures are what the clients have seen.
type figures struct {
	Sent, Failed int
	Longest      time.Duration // of a request
	Failures     []string      // the first ones
	Lost         int           // acknowledged increments that the counters do not have

	counts map[string]uint64 // acknowledged increments by counter
}

// load is clients that add to counters all the time. Each keeps its connection to a pod as long as the pod
// does, and goes to one of the endpoints when it needs another.
type load struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	hosts   []string
	figures figures
}

func (l *load) set(hosts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = hosts
}

// pick returns one of the endpoints.
func (l *load) pick() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.hosts) == 0 {
		return "nowhere"
	}
	return l.hosts[rand.IntN(len(l.hosts))]
}

func (l *load) begin() {
	l.stop = make(chan struct{})
	for range clients {
		l.wg.Go(l.client)
	}
}

// client makes one request after the other.
func (l *load) client() {
	t := &http.Transport{}
	defer t.CloseIdleConnections()
	http := http.Client{Transport: t, Timeout: 15 * time.Second}
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	host := l.pick()
	for {
		select {
		case <-l.stop:
			return
		case <-pace.C:
		}
		name := strconv.Itoa(rand.IntN(counters))
		began := time.Now()
		_, again, err := count(&http, "POST", host, name)
		l.note(name, host, time.Since(began), err)
		if again {
			t.CloseIdleConnections()
			host = l.pick()
		}
	}
}

// count makes a request for a counter. again says that the connection is not used for another one.
func count(client *http.Client, method, host, name string) (n uint64, again bool, err error) {
	r, err := http.NewRequest(method, "http://"+host+"/counters/"+name, nil)
	if err != nil {
		return 0, true, err
	}
	got, err := client.Do(r)
	if err != nil {
		return 0, true, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, text)
	}
	if err == nil {
		n, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	}
	return n, got.Close || err != nil, err
}

func (l *load) note(name, host string, took time.Duration, err error) {
	const failuresMax = 10
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &l.figures
	f.Sent++
	f.Longest = max(f.Longest, took)
	if err == nil {
		f.counts[name]++
		return
	}
	if f.Failed++; len(f.Failures) < failuresMax {
		f.Failures = append(f.Failures, fmt.Sprintf("%s of %s after %v: %v", name, host, took, err))
	}
}

// rest ends the load, and compares what was acknowledged with what the counters say.
func (l *load) rest() (figures, error) {
	close(l.stop)
	l.wg.Wait()
	client := http.Client{Timeout: 15 * time.Second}
	defer client.CloseIdleConnections()
	f := l.figures
	for name, acked := range f.counts { // order: each by itself
		n, _, err := count(&client, "GET", l.pick(), name)
		if err != nil {
			return f, err
		}
		if n < acked {
			f.Lost += int(acked - n)
		}
	}
	return f, nil
}
