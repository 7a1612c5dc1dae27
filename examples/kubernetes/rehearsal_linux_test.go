package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
	"github.com/coterie-go/coterie/proptest/hosts"
	"github.com/coterie-go/coterie/proptest/nodetest"
)

// podVariable makes this program a pod.
const podVariable = "KUBERNETES_TEST_POD"

func TestMain(m *testing.M) {
	if _, err := hosts.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(podVariable) != "" {
		go carryOut(os.Stdin, os.NewFile(answersFile, "answers"))
		main()
		return
	}
	nodetest.Main(map[string]nodetest.Program{"plane": runPlane})
	goleak.VerifyTestMain(m)
}

// newCluster makes a cluster without pods.
func newCluster(t *testing.T, k *kit) *cluster {
	t.Helper()
	c := &cluster{
		t: t, kit: k, network: hosts.New(1), tls: t.TempDir(), volumes: t.TempDir(), pods: map[string]*pod{},
		authority: pkitest.NewAuthority(t),
	}
	c.secret()
	host := c.network.Host()
	c.planeIP = host.Addr().String()
	var err error
	if c.plane, err = nodetest.StartOn(t, "plane", host); errors.Is(err, hosts.ErrUnavailable) {
		t.Skip(err) // skip: not every machine lets us make namespaces and TUN devices
	} else if err != nil {
		t.Fatal(err)
	}
	if err := c.plane.Setup(t.Context(), c.planeIP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// secret makes the certificate that all pods mount, or renews it, and returns its serial number.
func (c *cluster) secret() (serial string) {
	c.t.Helper()
	made := c.t.TempDir()
	f := c.authority.Issue(made, pkitest.Node{Names: []string{tlsName}})
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		c.t.Fatal(err)
	}
	for from, to := range map[string]string{f.Cert: "tls.crt", f.Key: "tls.key", f.CA: "ca.crt"} {
		if err := os.Rename(from, filepath.Join(c.tls, to)); err != nil {
			c.t.Fatal(err)
		}
	}
	return pair.Leaf.SerialNumber.String()
}

// renew renews the certificate, and waits until each pod shows the new one.
func (c *cluster) renew(pods []*pod) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), renewLimit)
	defer cancel()
	serial := c.secret()
	for _, p := range pods {
		order := shownCertificate{Addr: fmt.Sprintf("%v:%d", p.host.Addr(), c.kit.port(c.t, nodesPort)), Serial: serial}
		if err := c.plane.Call(ctx, "shows", order, nil); err != nil {
			c.t.Errorf("%s does not show the renewed certificate: %v", p.name, err)
		}
	}
}

// renewLimit is reached only when pods do not read the files again.
const renewLimit = 30 * time.Second

// close kills what runs.
func (c *cluster) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		p.ended()
		_ = p.cmd.Process.Kill()
		<-p.exited
		_ = p.beside.answers.Close()
		if c.t.Failed() {
			c.t.Logf("%s has logged at last:\n%s", p.name, &p.log)
		}
	}
}

// scale starts pods until there are so many, from number from.
func (c *cluster) scale(from, to int, version string) (all []*pod) {
	for i := from; i < to; i++ {
		all = append(all, c.start(c.podName(i), version))
	}
	c.until(all...)
	return all
}

// replace puts a pod of a version in the place of another, as the controller of the kit does in a roll-out.
func (c *cluster) replace(old *pod, i int, version string) *pod {
	if c.kit.set != nil {
		c.stop(old)
		next := c.start(c.podName(i), version)
		c.until(next)
		return next
	}
	next := c.start(c.podName(i), version)
	c.until(next)
	c.stop(old)
	return next
}

// evict ends a pod as a drain of its machine does, and has another one started elsewhere.
func (c *cluster) evict(old *pod, i int, version string) *pod {
	if c.kit.set != nil {
		return c.replace(old, i, version)
	}
	next := c.start(c.podName(i), version)
	c.stop(old)
	c.until(next)
	return next
}

// disturb starts two pods more, stops them, and drains a machine that has two pods.
func (c *cluster) disturb(pods []*pod) {
	more := c.scale(len(pods), len(pods)+2, "2")
	c.stop(more...)
	const onMachine = 2
	for i := range onMachine {
		pods[i] = c.evict(pods[i], i, "2")
	}
}

// look asks the console of each pod for the cluster, and for the metrics, as an operator does.
func (c *cluster) look(pods []*pod) {
	for _, p := range pods {
		for path, want := range map[string]string{
			"/coterie/api/v1/cluster": p.host.Addr().String(), "/metrics": "coterie_ready 1",
		} {
			var answer string
			url := fmt.Sprintf("http://operator:%s@%v:%d%s", c.kit.env("")["SHOP_READ_TOKEN"], p.host.Addr(),
				c.kit.port(c.t, "console"), path)
			if c.call(c.t.Context(), "get", url, &answer); !strings.HasPrefix(answer, "200 ") ||
				!strings.Contains(answer, want) {
				c.t.Errorf("%s of %s: %.500s", path, p.name, answer)
			}
		}
	}
}

// Clients send requests all the time, while pods are replaced by those of a new version, one after the other, and
// while the certificate is renewed. After that, without -short, the number of pods goes up and down, and a machine is
// drained. No request fails, no pod has to be killed, and no acknowledged increment is lost.
func TestRehearsal(t *testing.T) {
	for _, k := range kits(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, k)
			pods := c.scale(0, k.replicas(), "1")
			c.call(t.Context(), "load", nil, nil)
			began := time.Now()
			for i := len(pods) - 1; i >= 0; i-- {
				pods[i] = c.replace(pods[i], i, "2")
			}
			rolled := time.Since(began)
			c.renew(pods)
			if !testing.Short() {
				c.disturb(pods)
			}
			var f figures
			c.call(t.Context(), "rest", nil, &f)
			c.look(pods)
			t.Logf("%s: in %v, of which the roll-out took %v: %d requests, %d failed, the longest took %v, "+
				"%d acknowledged increments lost", k.name, time.Since(began).Round(time.Second),
				rolled.Round(time.Second),
				f.Sent, f.Failed, f.Longest.Round(time.Millisecond), f.Lost)
			for _, text := range f.Failures {
				t.Error(text)
			}
			for _, text := range c.killed {
				t.Error(text)
			}
			const least = 1000
			if f.Failed > 0 || f.Lost > 0 || f.Sent < least {
				t.Errorf("%+v", f)
			}
		})
	}
}
