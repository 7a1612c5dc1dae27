package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
	"github.com/coterie-go/coterie/proptest/hosts"
	"github.com/coterie-go/coterie/proptest/nodetest"
)

// propagation is how long it takes until those that balance requests know of a change.
const propagation = time.Second

// cluster plays what Kubernetes does with the pods of one kit: on hosts of a network of its own, with the
// probes, hooks and times of the manifests.
type cluster struct {
	t       *testing.T
	kit     *kit
	network *hosts.Network
	plane   *nodetest.Process
	planeIP string
	tls     string // the directory of the mounted secret
	volumes string // the directory of those

	authority *pkitest.Authority // of the certificates

	mu       sync.Mutex
	pods     map[string]*pod
	killed   []string // pods that had to be killed, or were started again
	revision int
}

// pod is one pod with its process.
type pod struct {
	c      *cluster
	name   string
	host   *hosts.Host
	cmd    *exec.Cmd
	log    tail
	beside container
	exited chan error
	ended  context.CancelFunc // ends the probes

	// The cluster's mutex guards these.
	ready   bool
	inside  bool // of the endpoints
	ending  bool
	changed chan struct{} // closed and replaced when ready has changed
}

// tail is the end of what a pod has logged.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (l *tail) Write(b []byte) (int, error) {
	const most = 8 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	l.text = l.text[max(0, len(l.text)-most):]
	return len(b), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// call has the plane do something.
func (c *cluster) call(ctx context.Context, name string, in, out any) {
	if err := c.plane.Call(ctx, name, in, out); err != nil && ctx.Err() == nil {
		c.t.Errorf("%s: %v", name, err)
	}
}

// podName is that of the i-th pod.
func (c *cluster) podName(i int) string {
	if c.kit.set != nil {
		return fmt.Sprint("shop-", i)
	}
	c.revision++
	return fmt.Sprintf("shop-%d-%d", c.revision, i)
}

// start starts a pod of a version of the service.
func (c *cluster) start(name, version string) *pod {
	c.t.Helper()
	p := &pod{c: c, name: name, host: c.network.Host(), exited: make(chan error, 1), changed: make(chan struct{})}
	env := c.kit.env(p.host.Addr().String())
	env["SHOP_VERSION"], env["SHOP_TLS"] = version, c.tls
	env["SHOP_API"] = "http://" + c.planeIP + ":" + apiPort
	env["SHOP_RESOLVER"] = c.planeIP + ":" + namesPort
	if env["SHOP_DIR"] != "" {
		env["SHOP_DIR"] = filepath.Join(c.volumes, name)
	}
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), podVariable+"=1")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		p.cmd.Env = append(p.cmd.Env, name+"="+env[name])
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	var started func() error
	if p.beside, started, err = contain(p.cmd); err != nil {
		c.t.Fatal(err)
	}
	if err := errors.Join(p.host.Start(p.cmd), started()); err != nil {
		c.t.Fatal(err)
	}
	go func() { p.exited <- p.host.Wait() }()
	c.mu.Lock()
	c.pods[name] = p
	c.mu.Unlock()
	c.publish()
	ctx, cancel := context.WithCancel(c.t.Context())
	p.ended = cancel
	container := c.kit.container()
	go p.probe(ctx, container.ReadinessProbe, p.setReady)
	go p.probe(ctx, container.LivenessProbe, p.setLive)
	return p
}

// publish tells the name server and the API server of the pods that there are.
func (c *cluster) publish() {
	c.mu.Lock()
	var all []podRecord
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[name]
		o := corev1.Pod{Spec: c.kit.template().Spec}
		o.Labels = c.kit.template().Labels
		o.Status.PodIP, o.Status.Phase = p.host.Addr().String(), corev1.PodRunning
		text, err := json.Marshal(o)
		if err != nil {
			c.t.Error(err)
		}
		all = append(all, podRecord{Name: name, IP: o.Status.PodIP, Object: text})
	}
	c.mu.Unlock()
	c.call(c.t.Context(), "pods", all, nil)
}

// probe asks again and again, as the manifest says, and tells when success or failure has lasted for as long.
func (p *pod) probe(ctx context.Context, spec *corev1.Probe, set func(bool)) {
	tick := time.NewTicker(seconds(spec.PeriodSeconds))
	defer tick.Stop()
	failures := int32(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, seconds(spec.TimeoutSeconds))
		var answer string
		err := p.c.plane.Call(limited, "get", p.url(spec.HTTPGet), &answer)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && strings.HasPrefix(answer, "200 "):
			failures = 0
			set(true)
		default:
			if failures++; failures >= spec.FailureThreshold {
				set(false)
			}
		}
	}
}

// url is where a pod answers.
func (p *pod) url(get *corev1.HTTPGetAction) string {
	return fmt.Sprintf("http://%v:%d%s", p.host.Addr(), p.c.kit.port(p.c.t, get.Port.StrVal), get.Path)
}

// setReady notes what the readiness probe says. A pod that is ready gets requests.
func (p *pod) setReady(ready bool) {
	p.c.mu.Lock()
	changed := p.ready != ready
	p.ready = ready
	if changed {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	p.c.mu.Unlock()
	if changed {
		p.c.balance()
	}
}

// setLive starts nothing again: no pod of these plays may need it.
func (p *pod) setLive(live bool) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if !live && !p.ending {
		p.c.killed = append(p.c.killed, p.name+" is not live")
	}
}

// balance tells the clients which pods get requests, after a while.
func (c *cluster) balance() {
	select {
	case <-time.After(propagation):
	case <-c.t.Context().Done():
		return
	}
	port := c.kit.port(c.t, "http")
	c.mu.Lock()
	var inside []string
	for _, p := range c.pods {
		if p.inside = p.ready && !p.ending; p.inside {
			inside = append(inside, fmt.Sprintf("%v:%d", p.host.Addr(), port))
		}
	}
	c.mu.Unlock()
	slices.Sort(inside)
	c.call(c.t.Context(), "endpoints", inside, nil)
}

// until waits until pods are ready, and have been for as long as the manifest says.
func (c *cluster) until(pods ...*pod) {
	c.t.Helper()
	for _, p := range pods {
		limit := time.After(readyLimit)
		for {
			c.mu.Lock()
			ready, changed := p.ready, p.changed
			c.mu.Unlock()
			if ready {
				break
			}
			select {
			case <-changed:
			case err := <-p.exited:
				c.t.Fatalf("%s has ended: %v\n%s", p.name, err, &p.log)
			case <-limit:
				c.t.Fatalf("%s is not ready within %v\n%s", p.name, readyLimit, &p.log)
			}
		}
	}
	select {
	case <-time.After(c.kit.minReady()):
	case <-c.t.Context().Done():
	}
}

// readyLimit is reached only when something is broken.
const readyLimit = 2 * time.Minute

// stop ends pods as a kubelet does, all at once: the hook, SIGTERM, and SIGKILL when the grace period is over.
func (c *cluster) stop(pods ...*pod) {
	c.t.Helper()
	var wg sync.WaitGroup
	for _, p := range pods {
		wg.Go(p.stop)
	}
	wg.Wait()
}

func (p *pod) stop() {
	c, grace := p.c, time.NewTimer(p.c.kit.grace())
	defer grace.Stop()
	c.mu.Lock()
	p.ending = true
	c.mu.Unlock()
	var balanced sync.WaitGroup
	balanced.Go(c.balance)
	hook, cancel := context.WithTimeout(c.t.Context(), c.kit.grace())
	if err := p.beside.run(hook, c.kit.container().Lifecycle.PreStop.Exec.Command); err != nil {
		c.t.Errorf("the hook of %s: %v", p.name, err)
	}
	cancel()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended; then its code says how
	var err error
	select {
	case err = <-p.exited:
	case <-grace.C:
		_ = p.cmd.Process.Kill()
		err = <-p.exited
	}
	p.ended()
	_ = p.beside.answers.Close()
	balanced.Wait()
	c.mu.Lock()
	if err != nil {
		c.killed = append(c.killed, fmt.Sprintf("%s: %v\n%s", p.name, err, &p.log))
	}
	delete(c.pods, p.name)
	c.mu.Unlock()
	c.publish()
}
