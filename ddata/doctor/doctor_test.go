package doctor_test

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/doctor"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport/pki"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sound is a configuration, and a machine, of which there is nothing to say.
func sound(t *testing.T) (ddata.Config, doctor.Facts) {
	return ddata.Config{
			Name: "shop", Bind: "0.0.0.0:7946", Advertise: "10.0.0.1:7946", Seeds: []string{"10.0.0.2:7946"},
			BootstrapExpect: 3, Dir: "node", LeaveOnSIGTERM: 20 * time.Second,
			TLS: pkitest.NewAuthority(t).Identity(pkitest.Node{}),
		}, doctor.Facts{
			Plan: doctor.Plan{Nodes: 3, Grace: 30 * time.Second}, Now: time.Now(),
			Certificate: certificate(-time.Hour, 100*24*time.Hour), Port: &doctor.Trial{},
			Disk:   &doctor.Disk{Free: 1 << 30, Stored: 1 << 20, SyncTook: time.Millisecond},
			Memory: &doctor.Memory{Limit: 512 << 20, GoSoft: 400 << 20},
		}
}

// certificate counts from a time to another one, from now.
func certificate(from, to time.Duration) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{NotBefore: now.Add(from), NotAfter: now.Add(to), DNSNames: []string{"shop-nodes"}}
}

func TestNothingIsFound(t *testing.T) {
	cfg, facts := sound(t)
	var out strings.Builder
	if found := doctor.Check(cfg, facts); !doctor.Print(&out, found) || out.String() != "nothing was found\n" {
		t.Error(out.String())
	}
}

// Five broken configurations, with the words of the package's documentation.
func TestFiveBrokenConfigurations(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, harm := range map[string]func(*ddata.Config, *doctor.Facts){
		"a cluster of three whose nodes each found one of their own": func(c *ddata.Config, _ *doctor.Facts) {
			c.BootstrapExpect = 1
		},
		"a roll-out that kills nodes while they hand over": func(c *ddata.Config, _ *doctor.Facts) {
			c.LeaveOnSIGTERM = time.Minute
		},
		"a certificate that ends within the week": func(_ *ddata.Config, f *doctor.Facts) {
			f.Certificate = certificate(-90*24*time.Hour, 47*time.Hour)
			f.Now = f.Certificate.NotAfter.Add(-47 * time.Hour)
		},
		"a pair that cannot lose either node": func(c *ddata.Config, f *doctor.Facts) {
			f.Nodes, c.BootstrapExpect = 2, 2
		},
		"a directory that nothing can be written to": func(_ *ddata.Config, f *doctor.Facts) {
			f.Disk.Write = errors.New("permission denied")
		},
	} {
		cfg, facts := sound(t)
		harm(&cfg, &facts)
		found := doctor.Check(cfg, facts)
		if len(found) != 1 {
			t.Errorf("%s: %d findings: %v", name, len(found), found)
			continue
		}
		if want := "//\t" + name + "\n//\t" + found[0].String() + "\n"; !strings.Contains(string(doc), want) {
			t.Errorf("the documentation does not have\n%s", want)
		}
	}
}

// Each rule finds what is wrong, and only that.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		severity doctor.Severity
		want     string
		harm     func(*ddata.Config, *doctor.Facts)
	}{
		{doctor.Error, "Config.Name: is empty", func(c *ddata.Config, _ *doctor.Facts) { c.Name = "" }},
		{doctor.Error, "Config.BootstrapExpect: 3 is not more than half of the 6 nodes", func(_ *ddata.Config,
			f *doctor.Facts) {
			f.Nodes, f.Surge = 5, 1
		}},
		{doctor.Error, "so many, 4, are never there", func(c *ddata.Config, _ *doctor.Facts) { c.BootstrapExpect = 4 }},
		{doctor.Error, "Config.MinMembers: 4 members are never there", func(c *ddata.Config, _ *doctor.Facts) {
			c.MinMembers = 4
		}},
		{doctor.Error, "PerRole[a].MinMembers: 4 members are never there", func(c *ddata.Config, _ *doctor.Facts) {
			c.PerRole = map[string]roles.Config{"a": {MinMembers: 4}}
		}},
		{doctor.Warning, "Config.BootstrapAnyDisks: it is set", func(c *ddata.Config, _ *doctor.Facts) {
			c.BootstrapAnyDisks = true
		}},
		{doctor.Note, "0 founds no cluster", func(c *ddata.Config, _ *doctor.Facts) { c.BootstrapExpect = 0 }},
		{doctor.Note, "4 nodes bear the loss of 1 at once, no more than 3 do", func(_ *ddata.Config,
			f *doctor.Facts) {
			f.Nodes = 4
		}},
		{doctor.Note, "one node alone", func(c *ddata.Config, f *doctor.Facts) { c.BootstrapExpect, f.Nodes = 1, 1 }},
		{doctor.Error, "StaticQuorum.Size is 4", func(c *ddata.Config, _ *doctor.Facts) {
			c.Downing = downing.StaticQuorum{Size: 4}
		}},
		{doctor.Warning, "not more than half of 3 nodes", func(c *ddata.Config, _ *doctor.Facts) {
			c.Downing = downing.StaticQuorum{Size: 1}
		}},
		{doctor.Warning, "when the oldest node crashes", func(c *ddata.Config, _ *doctor.Facts) {
			c.Downing = downing.KeepOldest{}
		}},
		{doctor.Warning, "6 voters bear the loss of 2 at once", func(c *ddata.Config, _ *doctor.Facts) {
			c.VotersMax = 6
		}},
		{doctor.Warning, "the loss of 2 of the nodes at once", func(c *ddata.Config, _ *doctor.Facts) {
			c.VotersMax = 3
		}},
		{doctor.Note, "Config.Dir: it is empty", func(c *ddata.Config, _ *doctor.Facts) { c.Dir = "" }},
		{doctor.Warning, "Config.LeaveOnSIGTERM: it is 0", func(c *ddata.Config, _ *doctor.Facts) {
			c.LeaveOnSIGTERM = 0
		}},
		{doctor.Warning, "may take 18s of the 20s", func(c *ddata.Config, _ *doctor.Facts) {
			c.ShutdownTimeouts = map[shutdown.Phase]time.Duration{shutdown.ServiceRequestsDone: 18 * time.Second}
		}},
		{doctor.Warning, "Local is for nodes on one machine", func(c *ddata.Config, _ *doctor.Facts) {
			c.Preset = ddata.Local
		}},
		{doctor.Warning, "durable writes wait up to 1s", func(c *ddata.Config, _ *doctor.Facts) {
			c.WriteBehind, c.RequestTimeout = time.Second, time.Second
		}},
		{doctor.Warning, "Config.Timing.LeaseDuration: 2s", func(c *ddata.Config, _ *doctor.Facts) {
			c.Timing = membership.Timing{
				LeaseDuration: 2 * time.Second, HeartbeatInterval: 200 * time.Millisecond,
				RoundTrip: 50 * time.Millisecond,
			}
		}},
		{doctor.Warning, "each process that reaches the port can join", func(c *ddata.Config, _ *doctor.Facts) {
			c.TLS = nil
		}},
		{doctor.Error, "nothing can listen there: in use", func(_ *ddata.Config, f *doctor.Facts) {
			f.Port.Err = errors.New("in use")
		}},
		{doctor.Error, "no lease can be acquired and given back: gone", func(_ *ddata.Config, f *doctor.Facts) {
			f.Leases = &doctor.Trial{Err: errors.New("gone")}
		}},
		{doctor.Warning, "it took 3s to acquire a lease", func(_ *ddata.Config, f *doctor.Facts) {
			f.Leases = &doctor.Trial{Took: 3 * time.Second}
		}},
		{doctor.Note, "the kernel's clock follows no other one", func(_ *ddata.Config, f *doctor.Facts) {
			f.ClockUnsynchronized = true
		}},
		{doctor.Warning, "shop has no address: none", func(_ *ddata.Config, f *doctor.Facts) {
			f.Unresolved = map[string]error{"shop": errors.New("none")}
		}},
		{doctor.Warning, "it names no node", func(_ *ddata.Config, f *doctor.Facts) {
			f.Discovered = &discovery.Answer{Err: discovery.ErrNoAddress}
		}},
		{doctor.Error, "no cluster is founded on its answer: refused", func(_ *ddata.Config, f *doctor.Facts) {
			f.Discovered = &discovery.Answer{Addrs: []string{"a:1"}, Err: errors.New("refused")}
		}},
		{doctor.Note, "it names 1 of 3 nodes", func(_ *ddata.Config, f *doctor.Facts) {
			f.Discovered = &discovery.Answer{Addrs: []string{"a:1"}}
		}},
		{doctor.Warning, "it names 5 nodes, and there are to be 3", func(_ *ddata.Config, f *doctor.Facts) {
			f.Discovered = &discovery.Answer{Addrs: make([]string, 5)}
		}},
		{doctor.Error, "the certificate has ended", func(_ *ddata.Config, f *doctor.Facts) {
			f.Certificate = certificate(-time.Hour, -time.Minute)
		}},
		{doctor.Error, "no connection is made before", func(_ *ddata.Config, f *doctor.Facts) {
			f.Certificate = certificate(time.Hour, 1000*time.Hour)
		}},
		{doctor.Error, "other nodes refuse the certificate", func(_ *ddata.Config, f *doctor.Facts) {
			f.CertificateHost = "10.0.0.1"
		}},
		{doctor.Error, "it holds lost+found", func(_ *ddata.Config, f *doctor.Facts) { f.Disk.Foreign = "lost+found" }},
		{doctor.Error, "of the kind NFS", func(_ *ddata.Config, f *doctor.Facts) { f.Disk.Kind = "NFS" }},
		{doctor.Warning, "it is in memory (tmpfs)", func(_ *ddata.Config, f *doctor.Facts) { f.Disk.Kind = "tmpfs" }},
		{doctor.Warning, "1 MiB are free, and 100 MiB are stored", func(_ *ddata.Config, f *doctor.Facts) {
			f.Disk.Free, f.Disk.Stored = 1<<20, 100<<20
		}},
		{doctor.Warning, "a sync took 2s", func(_ *ddata.Config, f *doctor.Facts) {
			f.Disk.SyncTook = 2 * time.Second
		}},
		{doctor.Warning, "Go does not know it", func(_ *ddata.Config, f *doctor.Facts) { f.Memory.GoSoft = 0 }},
		{doctor.Warning, "it is 500 MiB of a limit of 512 MiB", func(_ *ddata.Config, f *doctor.Facts) {
			f.Memory.GoSoft = 500 << 20
		}},
		{doctor.Warning, "the address space is 1024 MiB", func(_ *ddata.Config, f *doctor.Facts) {
			f.Memory.AddressSpace = 1 << 30
		}},
		{doctor.Warning, "0.50: a process that has used its share", func(_ *ddata.Config, f *doctor.Facts) {
			f.Memory.Processors = 0.5
		}},
	} {
		cfg, facts := sound(t)
		c.harm(&cfg, &facts)
		found := doctor.Check(cfg, facts)
		if !slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Severity == c.severity && strings.Contains(f.String(), c.want) && f.Remedy != ""
		}) || len(found) > 2 {
			t.Errorf("want %v %q: %v", c.severity, c.want, found)
		}
	}
}

// Look finds what is the case on this machine.
func TestLook(t *testing.T) {
	cfg, _ := sound(t)
	dir := t.TempDir()
	cfg.Dir, cfg.Bind, cfg.Advertise = filepath.Join(dir, "a", "b"), "127.0.0.1:0", "127.0.0.1:7946"
	cfg.Seeds = []string{"127.0.0.1:1", "name.invalid:1"}
	cfg.Discovery = discovery.Static{"127.0.0.1:2"}
	cfg.Downing, cfg.Leases = downing.LeaseMajority{}, locks.NewMemory()
	f := doctor.Look(t.Context(), cfg, doctor.Plan{Nodes: 3})
	if f.Nodes != 3 || len(f.Unresolved) != 1 || f.Unresolved["name.invalid"] == nil {
		t.Errorf("%+v", f)
	}
	if f.Discovered == nil || len(f.Discovered.Addrs) != 1 || f.Port.Err != nil || f.Leases.Err != nil {
		t.Errorf("%+v, %+v, %+v", f.Discovered, f.Port, f.Leases)
	}
	if f.Disk.Write != nil || f.Disk.InUse || f.Disk.Foreign != "" || f.Disk.Free == 0 {
		t.Errorf("%+v", f.Disk)
	}
	if f.Certificate == nil || f.CertificateHost != "127.0.0.1" ||
		f.Certificate.VerifyHostname(f.CertificateHost) != nil {
		t.Errorf("%+v for %q", f.Certificate, f.CertificateHost)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has left %v behind: %v", left, err)
	}
}

// What does not work is told, and is an error of the facts.
func TestLookAtWhatDoesNotWork(t *testing.T) {
	cfg, _ := sound(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Dir, cfg.Bind = file, "192.0.2.1:1"
	rash := lockstest.NewRash("")
	rash.Panic("Acquire", 1)
	cfg.Downing, cfg.Leases = downing.LeaseMajority{}, rash
	named := pkitest.NewAuthority(t).Issue(t.TempDir(), pkitest.Node{Names: []string{"shop-nodes"}})
	named.Name = "shop-nodes"
	id, err := pki.Load(named)
	if err != nil {
		t.Fatal(err)
	}
	cfg.TLS = id
	f := doctor.Look(t.Context(), cfg, doctor.Plan{})
	if f.Disk.Write == nil || f.Port.Err == nil || !errors.Is(f.Leases.Err, locks.ErrPanicked) ||
		f.CertificateHost != "shop-nodes" {
		t.Errorf("%+v, %+v, %+v, %q", f.Disk, f.Port, f.Leases, f.CertificateHost)
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(file), "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	if d := doctor.LookAtDisk(filepath.Dir(file)); d.Foreign != "lost+found" || d.Stored == 0 {
		t.Errorf("%+v", d)
	}
}

// A directory and a port that a running node has are no findings.
func TestLookBesideANode(t *testing.T) {
	cfg := ddata.Config{Name: "a", Bind: "127.0.0.1:0", BootstrapExpect: 1, Dir: t.TempDir(), Preset: ddata.Local}
	n, err := ddata.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	f := doctor.Look(t.Context(), cfg, doctor.Plan{})
	if !f.Disk.InUse || f.Port != nil {
		t.Errorf("%+v, %+v", f.Disk, f.Port)
	}
	for _, found := range doctor.Judge(f) {
		if found.Severity == doctor.Error {
			t.Error(found)
		}
	}
}
