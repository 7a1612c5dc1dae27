// Command kubernetes is a service for Kubernetes: counters as entities, behind HTTP, in a cluster of pods.
// The directory manifests has all that a cluster of Kubernetes needs to run it, in two forms: a StatefulSet
// whose pods have disks, and a Deployment whose pods have none. The README says how to build the image, make
// certificates, apply the manifests, look at the cluster, and change it.
//
// The secret shop-tls has one certificate for all pods, with the name shop-nodes, and the authority that has signed
// it. When the secret changes, by cert-manager or by hand, Kubernetes replaces the files, and the nodes read them
// again: no pod is started again for that.
//
// # HTTP
//
//	POST /counters/NAME   adds one, and answers with the count when a majority of the pods has it
//	GET /counters/NAME    answers with the count
//
// A name has 1 to 512 bytes of UTF-8; others are 400. 503 says that the cluster cannot, or that it is not known
// whether it has.
//
// On a port of its own: /livez and /readyz for the probes, which follow Health of the node. They are for the
// kubelet of the pod's machine, which a NetworkPolicy never holds off; the policy lets no others in.
//
// On a third port: the console of package console, and the metrics for Prometheus. Both want a token of the secret
// shop-console.
//
// # How a pod ends
//
// Kubernetes takes the pod out of the service, and at the same time runs the preStop hook in its container, which
// is this program with -drain. It tells the pod over a loopback address, so that only what runs in the pod can.
// From then on the pod says that it is not ready, and asks clients to close their connections. It serves requests
// all the same, for those that balance them may take some seconds to know. When that time is over the hook returns,
// and the process gets SIGTERM: it takes no more connections, works off its requests, hands its shards over, and
// leaves the cluster. If no SIGTERM comes, the pod is ready again. The time for all that is
// terminationGracePeriodSeconds. Tests of this package hold the manifests to it, and play roll-outs with their values.
//
// # Settings
//
// The environment variables are those that the manifests set; see settings.go. With -doctor the program says
// what will go wrong with them, and ends: kubectl exec POD -- /shop -doctor.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/coterie-go/coterie/ddata/doctor"
)

func main() {
	examine := flag.Bool("doctor", false, "say what will go wrong with the settings, and end")
	drain := flag.Bool("drain", false, "have the pod drain, as its preStop hook, and end when it has")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, wrong := read(os.LookupEnv)
	switch {
	case *examine:
		if !s.examine(context.Background(), wrong, os.Stdout) {
			os.Exit(1)
		}
	case len(wrong) > 0:
		fail(log, wrong)
	case *drain:
		if err := s.preStop(context.Background()); err != nil {
			fail(log, err)
		}
	default:
		if err := serve(context.Background(), s, log); err != nil {
			fail(log, err)
		}
	}
}

// fail ends the process with an error.
func fail(log *slog.Logger, err error) {
	log.Error("the program has ended", "err", err)
	os.Exit(1)
}

// examine prints what will go wrong, and reports whether nothing will that keeps the service from working. With
// mistakes in the environment it prints these alone: the settings are not whole.
func (s settings) examine(ctx context.Context, wrong mistakes, out io.Writer) (sound bool) {
	if len(wrong) > 0 {
		return doctor.Print(out, wrong.findings(nil))
	}
	cfg, end, wrong := s.config(ctx, slog.New(slog.DiscardHandler))
	defer end()
	plan := doctor.Plan{Nodes: s.replicas, Surge: s.surge()}
	if s.grace > 0 {
		plan.Grace = s.grace - s.drain // SIGTERM comes when the hook has returned
	}
	facts := doctor.Look(ctx, cfg, plan)
	if s.podRuns(ctx) {
		facts.Port = nil // it has the port
	}
	found := doctor.Check(cfg, facts)
	return doctor.Print(out, wrong.findings(found))
}
