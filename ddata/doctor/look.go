package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/transport"
)

// lookLimit bounds each look.
const lookLimit = 5 * time.Second

// Look finds what the node of a configuration will find on this machine. ctx ends it earlier.
func Look(ctx context.Context, cfg ddata.Config, plan Plan) Facts {
	f := Facts{Plan: plan, Now: time.Now(), ClockUnsynchronized: clockUnsynchronized()}
	f.Memory = memory()
	f.Unresolved = unresolved(ctx, append([]string{advertised(cfg)}, cfg.Seeds...))
	if cfg.Discovery != nil && discovery.Validate(cfg.Discovery) == nil {
		limited, cancel := context.WithTimeout(ctx, lookLimit)
		a := discovery.Ask(limited, cfg.Discovery)
		cancel()
		f.Discovered = &a
	}
	if cfg.TLS != nil && transport.CheckTLS(cfg.TLS) == nil {
		f.Certificate, f.CertificateHost = certificate(cfg.TLS, advertised(cfg))
	}
	if cfg.Dir != "" {
		f.Disk = LookAtDisk(cfg.Dir)
	}
	if f.Disk == nil || !f.Disk.InUse {
		f.Port = LookAtPort(cfg.Bind)
	}
	if cfg.Leases != nil {
		f.Leases = tryLeases(ctx, cfg.Leases)
	}
	return f
}

// unresolved returns the hosts of addresses that have no address themselves.
func unresolved(ctx context.Context, addrs []string) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	failed := map[string]error{}
	for _, addr := range addrs {
		host, _, err := net.SplitHostPort(addr)
		if err != nil || host == "" || net.ParseIP(host) != nil {
			continue
		}
		if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
			failed[host] = err
		}
	}
	return failed
}

// certificate returns what a node shows, and what that must be good for when another one dials an address.
func certificate(id transport.TLS, addr string) (*x509.Certificate, string) {
	own := id.Server()
	if own == nil || len(own.Certificates) == 0 {
		return nil, ""
	}
	shown := own.Certificates[0].Leaf
	if shown == nil && len(own.Certificates[0].Certificate) > 0 {
		shown, _ = x509.ParseCertificate(own.Certificates[0].Certificate[0]) // none is none to judge
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return shown, ""
	}
	if c := id.Client(host); c != nil && !c.InsecureSkipVerify {
		return shown, c.ServerName
	}
	return shown, ""
}

// LookAtPort finds whether a process can listen at an address.
func LookAtPort(addr string) *Trial {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		err = l.Close()
	}
	return &Trial{Err: err}
}

// lockName is the name of a lease that no node uses.
const lockName = "doctor"

// tryLeases acquires a lease of its own and gives it back.
func tryLeases(ctx context.Context, store locks.Store) *Trial {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var panicked error
	store = locks.Guarded(store, func(p locks.Panic) { panicked = fmt.Errorf("%s has panicked: %v", p.Call, p.Value) })
	began := time.Now()
	l, err := store.Lock(lockName, "doctor")
	if err != nil {
		return &Trial{Err: err}
	}
	if _, err = l.Acquire(ctx, nil); err == nil { // another doctor may have it
		err = l.Release(ctx)
	}
	if closed := l.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = panicked
	}
	return &Trial{Err: err, Took: time.Since(began)}
}

// LookAtDisk looks at a directory, which need not be there yet.
func LookAtDisk(dir string) *Disk {
	d := &Disk{}
	at := existing(dir)
	d.Kind, d.Free = fileSystem(at)
	entries, err := os.ReadDir(dir)
	if err == nil {
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				d.Stored += uint64(info.Size())
			}
			if e.Name() == "lost+found" {
				d.Foreign = e.Name()
			}
		}
		d.InUse = inUse(dir)
	}
	if d.InUse {
		return d
	}
	d.SyncTook, d.Write = writeSynced(at)
	return d
}

// existing returns the directory, or the one above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// writeSynced makes a file, syncs it, and removes it.
func writeSynced(dir string) (took time.Duration, err error) {
	f, err := os.CreateTemp(filepath.Dir(filepath.Join(dir, "x")), ".doctor-*")
	if err != nil {
		return 0, pathless(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(make([]byte, os.Getpagesize())); err != nil {
		return 0, pathless(err)
	}
	began := time.Now()
	err = f.Sync()
	return time.Since(began), err
}

// pathless takes the name of a temporary file out of an error.
func pathless(err error) error {
	if p, is := err.(*os.PathError); is {
		return p.Err
	}
	return err
}

// memory reads the limits of the process.
func memory() *Memory {
	m := &Memory{AddressSpace: addressSpace()}
	if soft := debug.SetMemoryLimit(-1); soft != math.MaxInt64 {
		m.GoSoft = uint64(soft)
	}
	m.Limit, m.Processors = controlGroup(os.ReadFile)
	return m
}

// controlGroup reads the limits of the control group that a container sees as its own.
func controlGroup(read func(string) ([]byte, error)) (memory uint64, processors float64) {
	const dir = "/sys/fs/cgroup/"
	if b, err := read(dir + "memory.max"); err == nil {
		_, _ = fmt.Sscan(string(b), &memory) // "max" is none
	}
	if b, err := read(dir + "cpu.max"); err == nil {
		var quota, period float64
		if n, _ := fmt.Sscan(strings.TrimSpace(string(b)), &quota, &period); n == 2 && period > 0 {
			processors = quota / period
		}
	}
	return memory, processors
}
