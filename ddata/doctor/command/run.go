package command

import (
	"context"
	"encoding/json"
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
	json      bool
}

// Look examines manifests, and what the flags name, and writes what is found. sound reports whether nothing was
// that keeps a cluster from working. An error is one of the flags or of the files.
type Look func(ctx context.Context, out io.Writer, files []string) (sound bool, err error)

// Prepare adds the flags of the command to a set, and returns what is done when they are parsed.
func Prepare(flags *flag.FlagSet) Look {
	o := &options{}
	o.add(flags)
	return func(ctx context.Context, out io.Writer, files []string) (bool, error) {
		if len(files) == 0 && flags.NFlag() == 0 {
			return false,
				errors.New("name manifests, or what to look at: -dir, -bind, -tls, -dns; -help lists the flags")
		}
		found, err := o.look(ctx, files)
		if err != nil {
			return false, err
		}
		if !o.json {
			return doctor.Print(out, found), nil
		}
		return doctor.Sound(found), json.NewEncoder(out).Encode(found)
	}
}

// Run is the command as a program of its own: it parses the arguments, those after the name of the command, and
// returns the code with which the program should end.
func Run(ctx context.Context, args []string, out, problems io.Writer) (code int) {
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprintln(problems, "usage: doctor [flags] [manifest.yaml ...]")
		flags.PrintDefaults()
	}
	look := Prepare(flags)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return Sound
	} else if err != nil {
		return Misuse
	}
	sound, err := look(ctx, out, flags.Args())
	switch {
	case err != nil:
		fmt.Fprintln(problems, "doctor:", err)
		return Misuse
	case !sound:
		return Broken
	}
	return Sound
}

func (o *options) add(f *flag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print the findings as JSON")
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
}

// look finds what is wrong with manifests, and with what the flags name.
func (o *options) look(ctx context.Context, names []string) ([]doctor.Finding, error) {
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
		found = append(found, manifests.Check(files, o.manifests)...)
	}
	here, err := o.environment(ctx)
	return append(found, here...), err
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
