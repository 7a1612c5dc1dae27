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
		if len(files) == 0 && flags.NFlag() == 0 {
			return fmt.Errorf("%w: doctor: name manifests, or what to look at: -dir, -bind, -tls, -dns", errUsage)
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

func (f *doctorFlags) add(flags *flag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print the findings as JSON")
	flags.StringVar(&f.manifests.Port, "port-name", "coterie", "the `name` of the nodes' port in the manifests")
	flags.DurationVar(&f.manifests.Leave, "leave", 0, "how long a node may take to leave (Config.LeaveOnSIGTERM)")
	flags.DurationVar(&f.manifests.Drain, "drain", 0, "how long the preStop hook takes, if it is a call or a command")
	flags.IntVar(&f.manifests.Founders, "founders", 0, "how many nodes found the cluster (Config.BootstrapExpect)")
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

// environment judges this machine.
func (f *doctorFlags) environment(ctx context.Context) ([]doctor.Finding, error) {
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
