package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/doctor"
	"github.com/coterie-go/coterie/ddata/doctor/manifests"
	"github.com/coterie-go/coterie/ddata/transport/pki"
)

// errUnsound: something will not work. It was named.
var errUnsound = errors.New("something will not work")

// doctorFlags say what the doctor looks at.
type doctorFlags struct {
	manifests manifests.Options
	plan      doctor.Plan
	cfg       ddata.Config
	tls       string
	name      string
	dns       discovery.DNS
	port      uint
	json      bool
}

// doctorCommand judges manifests of Kubernetes, by package manifests, and the parts of the environment that
// flags name, on this machine. Whether a configuration of a program is right, the program says that has
// it: see package doctor.
func doctorCommand(flags *flag.FlagSet) task {
	f := &doctorFlags{}
	f.add(flags)
	return func(ctx context.Context, c stdio, files []string) error {
		if err := idle(flags, len(files) > 0); err != nil {
			return fmt.Errorf("%w: doctor: %w", errUsage, err)
		}
		if len(files) == 0 && !f.named() {
			return fmt.Errorf("%w: doctor: name manifests, or what to look at: "+
				"-dir, -bind, -advertise, -tls, -dns", errUsage)
		}
		found, err := f.look(ctx, files)
		if err != nil {
			return fmt.Errorf("%w: doctor: %w", errUsage, err)
		}
		if f.json {
			err = json.NewEncoder(c.out).Encode(found)
		} else {
			doctor.Print(c.out, found)
		}
		if err == nil && !doctor.Sound(found) {
			err = errUnsound
		}
		return err
	}
}

// actsOn are the flags that act on manifests, or on what another flag names.
var actsOn = map[string]string{
	"port-name": "", "leave": "", "drain": "", "founders": "", "pods": "", "leases": "", "leave-env": "",
	"drain-env": "", "replicas-env": "", "dir-env": "",
	"nodes": "dns", "service": "dns", "port": "dns", "tls-name": "tls",
}

// idle returns an error that names a flag which has nothing to act on.
func idle(flags *flag.FlagSet, manifests bool) (err error) {
	flags.Visit(func(given *flag.Flag) {
		other, acts := actsOn[given.Name]
		switch {
		case err != nil || !acts:
		case other == "" && !manifests:
			err = fmt.Errorf("-%s has nothing to act on: name manifests", given.Name)
		case other != "" && flags.Lookup(other).Value.String() == "":
			err = fmt.Errorf("-%s has nothing to act on: give -%s", given.Name, other)
		}
	})
	return err
}

// named reports whether flags name something of this machine to look at.
func (f *doctorFlags) named() bool {
	return f.cfg.Dir != "" || f.cfg.Bind != "" || f.cfg.Advertise != "" || f.tls != "" || f.dns.Host != ""
}

func (f *doctorFlags) add(flags *flag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print the findings as JSON")
	flags.StringVar(&f.manifests.Port, "port-name", "coterie", "the `name` of the nodes' port in the manifests")
	flags.DurationVar(&f.manifests.Leave, "leave", 0, "how long a node may take to leave (Config.LeaveOnSIGTERM)")
	flags.DurationVar(&f.manifests.Drain, "drain", 0, "how long the preStop hook takes, if it is a call or a command")
	flags.IntVar(&f.manifests.Founders, "founders", 0, "how many nodes found the cluster (Config.BootstrapExpect)")
	flags.BoolVar(&f.manifests.Pods, "pods", false, "the program finds nodes by the API: their account may list pods")
	flags.BoolVar(&f.manifests.Leases, "leases", false,
		"the program keeps leases in Kubernetes: the account of the pods may write them")
	v := &f.manifests.Variables
	flags.StringVar(&v.Leave, "leave-env", "", "the `variable` of the container that says what -leave does")
	flags.StringVar(&v.Drain, "drain-env", "", "the `variable` of the container that says what -drain does")
	flags.StringVar(&v.Replicas, "replicas-env", "", "the `variable` that says how many pods there are")
	flags.StringVar(&v.Dir, "dir-env", "", "the `variable` that says where the directory of the node is")
	flags.IntVar(&f.plan.Nodes, "nodes", 0, "how many nodes there are to be")
	flags.StringVar(&f.cfg.Dir, "dir", "", "look at the `directory` of a node")
	flags.StringVar(&f.cfg.Bind, "bind", "", "try to listen at an `address`")
	flags.StringVar(&f.cfg.Advertise, "advertise", "", "the `address` at which others reach the node")
	flags.StringVar(&f.tls, "tls", "", "look at tls.crt, tls.key and ca.crt in a `directory`")
	flags.StringVar(&f.name, "tls-name", "", "the `name` that every certificate carries (Files.Name)")
	flags.StringVar(&f.dns.Host, "dns", "", "ask for the records of a `name`")
	flags.StringVar(&f.dns.Service, "service", "", "the `port` of SRV records, as of a headless service")
	flags.UintVar(&f.port, "port", 0, "the `number` of the nodes' port, for A and AAAA records")
}

// look finds what is wrong with manifests, and with what the flags name.
func (f *doctorFlags) look(ctx context.Context, names []string) ([]doctor.Finding, error) {
	files := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	found := []doctor.Finding{}
	if len(files) > 0 {
		found = append(found, manifests.Check(files, f.manifests)...)
	}
	here, err := f.environment(ctx)
	return append(found, here...), err
}

// environment judges this machine, if flags name something of it.
func (f *doctorFlags) environment(ctx context.Context) ([]doctor.Finding, error) {
	if !f.named() {
		return nil, nil
	}
	var found []doctor.Finding
	cfg := f.cfg
	if f.dns.Host != "" {
		const portMax = 1<<16 - 1
		if f.port > portMax {
			return nil, fmt.Errorf("-port %d: give a number up to %d", f.port, portMax)
		}
		f.dns.Port = uint16(f.port)
		if f.dns.Service != "" {
			f.dns.Proto = "tcp"
		}
		if err := f.dns.Validate(); err != nil {
			return nil, err
		}
		cfg.Discovery = f.dns
	}
	if f.tls != "" {
		id, err := pki.Load(pki.Files{
			Cert: filepath.Join(f.tls, "tls.crt"), Key: filepath.Join(f.tls, "tls.key"),
			CA: filepath.Join(f.tls, "ca.crt"), Name: f.name,
		})
		if err != nil {
			found = append(found, doctor.Finding{
				Severity: doctor.Error, Setting: "TLS", Problem: err.Error(),
				Remedy: "correct the files; all nodes need them",
			})
		} else {
			cfg.TLS = id
		}
	}
	facts := doctor.Look(ctx, cfg, f.plan)
	if cfg.Bind == "" {
		facts.Port = nil
	}
	return append(found, doctor.Judge(facts)...), nil
}
