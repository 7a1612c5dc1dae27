package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/pods"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/transport/pki"
)

const (
	clusterName = "shop"
	role        = "backend"
	// nodesPort is the name of the port of the nodes in the manifests, by which they are found.
	nodesPort = "coterie"
	// tlsName is the name that the certificate of each pod carries.
	tlsName = "shop-nodes"
)

// settings are what the manifests say by environment variables.
type settings struct {
	http      string        // SHOP_HTTP: where requests are taken
	probes    string        // SHOP_PROBES: where probes are answered
	hook      string        // SHOP_HOOK: where the preStop hook reaches the pod, from within
	console   string        // SHOP_CONSOLE: where the console and the metrics are; nowhere without
	read      string        // SHOP_READ_TOKEN: the secret that lets callers look at them
	operate   string        // SHOP_OPERATE_TOKEN: the secret that lets callers act, too; none may without
	bind      string        // SHOP_BIND: where the node listens
	advertise string        // SHOP_ADVERTISE: where the others reach it
	replicas  int           // SHOP_REPLICAS: of how many pods the cluster is founded
	nodes     string        // SHOP_NODES: the headless service whose DNS records name the pods
	labels    string        // SHOP_LABELS: instead of that, the labels of the pods, for the API
	namespace string        // SHOP_NAMESPACE: of the pods and the leases
	dir       string        // SHOP_DIR: the directory of this pod; none without
	tls       string        // SHOP_TLS: the directory of the mounted secret; no TLS without
	leases    bool          // SHOP_LEASES: yes if leases in Kubernetes decide partitions
	drain     time.Duration // SHOP_DRAIN: how long the preStop hook waits
	leave     time.Duration // SHOP_LEAVE: how long the node may take to leave
	grace     time.Duration // SHOP_GRACE: terminationGracePeriodSeconds, for the doctor; not known without
	version   string        // SHOP_VERSION: of the service
	api       string        // SHOP_API: the URL of the API server; that of the pod's cluster without
	resolver  string        // SHOP_RESOLVER: the address of a name server; that of the system without
}

// read takes the settings from the environment. It reports all mistakes.
func read(lookup func(string) (string, bool)) (s settings, wrong mistakes) {
	get := func(name, def string) string {
		if v, ok := lookup(name); ok {
			return v
		}
		return def
	}
	refuse := func(name, value, remedy string) {
		wrong = append(wrong, mistake{variable: name, problem: fmt.Errorf("it is %q", value), remedy: remedy})
	}
	number := func(name, def string) int {
		n, err := strconv.Atoi(get(name, def))
		if err != nil || n < 1 {
			refuse(name, get(name, def), "give a number above 0")
		}
		return n
	}
	span := func(name, def string) time.Duration {
		d, err := time.ParseDuration(get(name, def))
		if err != nil || d < 0 {
			refuse(name, get(name, def), "give a time such as 10s")
		}
		return d
	}
	choice := func(name, def string) bool {
		v := get(name, def)
		if v != "yes" && v != "no" {
			refuse(name, v, "say yes or no")
		}
		return v == "yes"
	}
	s = settings{
		http: get("SHOP_HTTP", ":8080"), probes: get("SHOP_PROBES", ":8081"), bind: get("SHOP_BIND", "0.0.0.0:7946"),
		hook: get("SHOP_HOOK", "127.0.0.1:8082"), advertise: get("SHOP_ADVERTISE", ""),
		console: get("SHOP_CONSOLE", ""), read: get("SHOP_READ_TOKEN", ""), operate: get("SHOP_OPERATE_TOKEN", ""),
		replicas: number("SHOP_REPLICAS", "1"),
		nodes:    get(nodesVariable, ""), labels: get(labelsVariable, ""), namespace: get("SHOP_NAMESPACE", ""),
		dir: get("SHOP_DIR", ""), tls: get(tlsVariable, ""), leases: choice(leasesVariable, "no"),
		drain: span("SHOP_DRAIN", "5s"), leave: span("SHOP_LEAVE", "20s"),
		grace: span("SHOP_GRACE", "0s"), version: get("SHOP_VERSION", ""),
		api: get("SHOP_API", ""), resolver: get("SHOP_RESOLVER", ""),
	}
	if (s.nodes == "") == (s.labels == "") {
		refuse(nodesVariable, s.nodes, "give either the headless service, or the labels of the pods in SHOP_LABELS")
	}
	if hook, err := netip.ParseAddrPort(s.hook); err != nil || !hook.Addr().IsLoopback() {
		refuse("SHOP_HOOK", s.hook, "give a loopback address such as 127.0.0.1:8082: others may not have it drain")
	}
	if s.grace > 0 && s.grace <= s.drain {
		refuse("SHOP_GRACE", s.grace.String(), "give more than SHOP_DRAIN, and terminationGracePeriodSeconds the same")
	}
	if s.console != "" && (s.read == "" || s.read == s.operate) {
		wrong = append(wrong, mistake{
			variable: "SHOP_READ_TOKEN", problem: errors.New("it is empty, or the same as SHOP_OPERATE_TOKEN"),
			remedy: "give a secret of its own, or no SHOP_CONSOLE",
		})
	}
	return s, wrong
}

// The variables that lead to something outside of the process.
const (
	nodesVariable  = "SHOP_NODES"
	labelsVariable = "SHOP_LABELS"
	tlsVariable    = "SHOP_TLS"
	leasesVariable = "SHOP_LEASES"
)

// config makes the configuration of the node. What could not be made is missing from it, and is among the
// mistakes. end releases what was opened, whatever the mistakes.
func (s settings) config(ctx context.Context, log *slog.Logger) (cfg ddata.Config, end func(), wrong mistakes) {
	var opened []func()
	end = func() {
		for _, f := range opened {
			f()
		}
	}
	cfg = ddata.Config{
		Name: clusterName, Bind: s.bind, Advertise: s.advertise, Roles: []string{role}, AppVersion: s.version,
		BootstrapExpect: s.founders(), Dir: s.dir, LeaveOnSIGTERM: s.leave, Logger: log,
	}
	if s.dir != "" {
		cfg.DurableKeys = []string{"counter/*"}
	}
	if s.tls != "" {
		if id, err := s.identity(log); err != nil {
			wrong = append(wrong, mistake{tlsVariable, err,
				"mount the secret shop-tls there, with tls.crt, tls.key and ca.crt", "Config.TLS"})
		} else {
			cfg.TLS = id
		}
	}
	if s.resolver != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string,
		) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.resolver)
		}}
	}
	if s.nodes != "" {
		cfg.Discovery = discovery.DNS{Host: s.nodes, Service: nodesPort, Proto: "tcp"}
	} else if found, err := s.source(); err != nil {
		wrong = append(wrong, mistake{labelsVariable, err,
			"give labels such as app=shop, and run in a pod whose account may list pods, or set SHOP_API",
			"Config.Discovery"})
	} else {
		cfg.Discovery, opened = found, append(opened, found.Close)
	}
	if s.leases {
		cfg.Downing = downing.LeaseMajority{}
		if store, err := s.store(ctx); err != nil {
			wrong = append(wrong, mistake{leasesVariable, err,
				"run in a pod whose account may write leases, or set SHOP_API, or say no", "Config.Leases"})
		} else {
			cfg.Leases, opened = store, append(opened, store.Close)
		}
	}
	return cfg, end, wrong
}

// surge is how many pods there may be beside the replicas in a roll-out: a Deployment adds one.
func (s settings) surge() int {
	if s.dir != "" {
		return 0
	}
	return 1
}

// founders is how many pods found the cluster: more than half of the pods that there can be.
func (s settings) founders() int { return min((s.replicas+s.surge())/2+1, s.replicas) }

// identity reads the certificate that Kubernetes has mounted.
func (s settings) identity(log *slog.Logger) (*pki.Identity, error) {
	return pki.Load(pki.Files{
		Cert: filepath.Join(s.tls, "tls.crt"), Key: filepath.Join(s.tls, "tls.key"), CA: filepath.Join(s.tls, "ca.crt"),
		Name: tlsName, Logger: log,
	})
}

// cluster is the configuration of the client of the API server.
func (s settings) cluster() (*rest.Config, error) {
	if s.api != "" {
		return &rest.Config{Host: s.api}, nil
	}
	return rest.InClusterConfig()
}

func (s settings) source() (*pods.Source, error) {
	set, err := labels.ConvertSelectorToLabelsMap(s.labels)
	if err != nil {
		return nil, fmt.Errorf("it is %q: %w", s.labels, err)
	}
	cluster, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return pods.New(cluster, pods.Config{Namespace: s.namespace, Labels: set, Port: nodesPort})
}

func (s settings) store(ctx context.Context) (*kubernetes.Store, error) {
	cluster, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return kubernetes.Open(ctx, cluster, kubernetes.Config{
		Namespace: s.namespace, Prefix: strings.ToLower(clusterName),
	})
}
