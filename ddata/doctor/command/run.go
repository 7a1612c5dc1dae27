package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/doctor"
	"github.com/coterie-go/coterie/ddata/doctor/manifests"
	"github.com/coterie-go/coterie/ddata/transport/pki"
)

// Codes with which a program should end.
const (
	Sound  = 0 // nothing that keeps a cluster from working
	Broken = 1 // a finding that does
	Misuse = 2 // flags or files that cannot be used
)

// options are what the flags say.
type options struct {
	manifests manifests.Options
	plan      doctor.Plan
	cfg       ddata.Config
	tls       string
	name      string
	dns       discovery.DNS
	port      uint
}

// Run looks at what the arguments name, prints the findings, and returns the code with which the program should
// end. args are those after the name of the command.
func Run(ctx context.Context, args []string, out, problems io.Writer) (code int) {
	var o options
	flags := o.flags(problems)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return Sound
	} else if err != nil {
		return Misuse
	}
	found, err := o.look(ctx, flags)
	if err != nil {
		fmt.Fprintln(problems, "doctor:", err)
		return Misuse
	}
	if !doctor.Print(out, found) {
		return Broken
	}
	return Sound
}

func (o *options) flags(problems io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("doctor", flag.ContinueOnError)
	f.SetOutput(problems)
	f.Usage = func() {
		fmt.Fprintln(problems, "usage: doctor [flags] [manifest.yaml ...]")
		f.PrintDefaults()
	}
	f.StringVar(&o.manifests.Port, "port-name", "coterie", "the `name` of the nodes' port in the manifests")
	f.DurationVar(&o.manifests.Leave, "leave", 0, "how long a node may take to leave (Config.LeaveOnSIGTERM)")
	f.DurationVar(&o.manifests.Drain, "drain", 0, "how long the preStop hook takes, if it is a call or a command")
	f.IntVar(&o.manifests.Founders, "founders", 0, "how many nodes found the cluster (Config.BootstrapExpect)")
	f.IntVar(&o.plan.Nodes, "nodes", 0, "how many nodes there are to be")
	f.StringVar(&o.cfg.Dir, "dir", "", "look at the `directory` of a node")
	f.StringVar(&o.cfg.Bind, "bind", "", "try to listen at an `address`")
	f.StringVar(&o.cfg.Advertise, "advertise", "", "the `address` at which others reach the node")
	f.StringVar(&o.tls, "tls", "", "look at tls.crt, tls.key and ca.crt in a `directory`")
	f.StringVar(&o.name, "tls-name", "", "the `name` that every certificate carries (Files.Name)")
	f.StringVar(&o.dns.Host, "dns", "", "ask for the records of a `name`")
	f.StringVar(&o.dns.Service, "service", "", "the `port` of SRV records, as of a headless service")
	f.UintVar(&o.port, "port", 0, "the `number` of the nodes' port, for A and AAAA records")
	return f
}

// look finds what is wrong with what the flags and the other arguments name.
func (o *options) look(ctx context.Context, flags *flag.FlagSet) ([]doctor.Finding, error) {
	files := map[string][]byte{}
	for _, name := range flags.Args() {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	var found []doctor.Finding
	if len(files) > 0 {
		found = manifests.Check(files, o.manifests)
	}
	here, err := o.environment(ctx)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && flags.NFlag() == 0 {
		return nil, errors.New("name manifests, or what to look at: -dir, -bind, -tls, -dns; -help lists the flags")
	}
	return append(found, here...), nil
}

// environment judges this machine.
func (o *options) environment(ctx context.Context) ([]doctor.Finding, error) {
	var found []doctor.Finding
	cfg := o.cfg
	if o.dns.Host != "" {
		const portMax = 1<<16 - 1
		if o.port > portMax {
			return nil, fmt.Errorf("-port %d: give a number up to %d", o.port, portMax)
		}
		o.dns.Port = uint16(o.port)
		if o.dns.Service != "" {
			o.dns.Proto = "tcp"
		}
		if err := o.dns.Validate(); err != nil {
			return nil, err
		}
		cfg.Discovery = o.dns
	}
	if o.tls != "" {
		id, err := pki.Load(pki.Files{
			Cert: filepath.Join(o.tls, "tls.crt"), Key: filepath.Join(o.tls, "tls.key"), CA: filepath.Join(o.tls,
				"ca.crt"),
			Name: o.name,
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
	facts := doctor.Look(ctx, cfg, o.plan)
	if cfg.Bind == "" {
		facts.Port = nil
	}
	return append(found, doctor.Judge(facts)...), nil
}
