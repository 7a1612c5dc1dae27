package doctor

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// Check says what will go wrong with a configuration on a machine of these facts, the worst first. It is a
// pure function.
func Check(cfg ddata.Config, facts Facts) []Finding {
	var f Findings
	for _, fault := range config.Named(cfg.Validate()) {
		f.Add(true, Error, "Config."+fault.Setting, "the node does not start with it", "%v", fault.Err)
	}
	checkFounding(&f, cfg, facts.Plan)
	checkQuorum(&f, cfg, facts.Nodes)
	checkEnd(&f, cfg, facts.Grace)
	checkTiming(&f, cfg)
	checkSecurity(&f, cfg)
	f = append(f, Judge(facts)...)
	f.Sort()
	return f
}

// checkFounding finds that no cluster comes to be, or two do.
func checkFounding(f *Findings, cfg ddata.Config, p Plan) {
	n, most := cfg.BootstrapExpect, p.Nodes+p.Surge
	f.Add(n == 1 && p.Nodes > 1, Error, "Config.BootstrapExpect",
		fmt.Sprintf("set it to more than half of the nodes, %d or more", most/2+1),
		"1 founds a cluster alone, and there are to be %d nodes: each may found one of its own", p.Nodes)
	f.Add(n > 1 && most > 0 && 2*n <= most, Error, "Config.BootstrapExpect",
		fmt.Sprintf("set it to %d or more", most/2+1),
		"%d is not more than half of the %d nodes that there can be at a time: two clusters can be founded", n, most)
	f.Add(p.Nodes > 0 && n > p.Nodes, Error, "Config.BootstrapExpect",
		fmt.Sprintf("set it to %d or less", p.Nodes), "so many, %d, are never there: no cluster is founded of %d nodes",
		n, p.Nodes)
	f.Add(p.Nodes > 0 && cfg.MinMembers > p.Nodes, Error, "Config.MinMembers", fmt.Sprintf("set it to %d or less",
		p.Nodes),
		"%d members are never there: no node becomes Up", cfg.MinMembers)
	for _, role := range slices.Sorted(maps.Keys(cfg.PerRole)) {
		f.Add(p.Nodes > 0 && cfg.PerRole[role].MinMembers > p.Nodes, Error, "Config.PerRole["+role+"].MinMembers",
			fmt.Sprintf("set it to %d or less", p.Nodes), "%d members are never there: no node becomes Up",
			cfg.PerRole[role].MinMembers)
	}
	f.Add(cfg.BootstrapAnyDisks, Warning, "Config.BootstrapAnyDisks",
		"take it away when the cluster has been founded anew", "it is set: acknowledged writes that lie only on "+
			"directories which are missing are lost, and two clusters can be founded")
	_, fixed := cfg.Discovery.(discovery.Static)
	f.Add(n == 0 && cfg.Discovery == nil || n == 0 && fixed, Note, "Config.BootstrapExpect",
		"set it on the nodes that found the cluster", "0 founds no cluster: this node waits until there is one")
}

// checkQuorum finds that the loss of few nodes stops the others.
func checkQuorum(f *Findings, cfg ddata.Config, nodes int) {
	strategy := cfg.Downing
	if strategy == nil {
		strategy = downing.KeepMajority{}
	}
	_, majority := strategy.(downing.KeepMajority)
	f.Add(majority && nodes == 2, Warning, "Config.Downing",
		"run 3, or use downing.LeaseMajority with a store of leases outside of the cluster",
		"with 2 nodes and %v the crash of one of them stops the other one, too", strategy)
	f.Add(majority && nodes > 2 && nodes%2 == 0, Note, "Config.Downing", fmt.Sprintf("run %d or %d", nodes-1, nodes+1),
		"%d nodes bear the loss of %d at once, no more than %d do", nodes, (nodes-1)/2, nodes-1)
	f.Add(nodes == 1, Note, "Config.Downing", "run 3", "one node alone: a crash stops everything")
	if s, is := strategy.(downing.StaticQuorum); is && nodes > 0 {
		f.Add(s.Size > nodes, Error, "Config.Downing", fmt.Sprintf("set Size to %d", nodes/2+1),
			"StaticQuorum.Size is %d, and there are to be %d nodes: the loss of one stops the others", s.Size, nodes)
		f.Add(s.Size <= nodes && 2*s.Size <= nodes, Warning, "Config.Downing", fmt.Sprintf("set Size to %d", nodes/2+1),
			"StaticQuorum.Size is %d, not more than half of %d nodes: more than half are asked for all the same",
			s.Size,
			nodes)
	}
	if s, is := strategy.(downing.KeepOldest); is {
		f.Add(!s.DownIfAlone, Warning, "Config.Downing", "set DownIfAlone, or use downing.KeepMajority",
			"when the oldest node crashes, all others end, for KeepOldest.DownIfAlone is not set")
	}
	f.Add(cfg.VotersMax > 0 && cfg.VotersMax%2 == 0, Warning, "Config.VotersMax",
		fmt.Sprintf("set it to %d on all nodes", cfg.VotersMax+1),
		"%d voters bear the loss of %d at once, no more than "+
			"%d do", cfg.VotersMax, (cfg.VotersMax-1)/2, cfg.VotersMax-1)
	f.Add(cfg.VotersMax > 0 && cfg.VotersMax < votersMin, Warning, "Config.VotersMax", "leave it at 0, which means 25",
		"the loss of %d of the nodes at once stops all", cfg.VotersMax/2+1)
	f.Add(cfg.Dir == "", Note, "Config.Dir", "give each node a directory of its own, if that matters",
		"it is empty: replicated data and remembered entities are gone when all nodes have stopped")
}

// votersMin is the least VotersMax that is of use.
const votersMin = 5

// endMin is what remains of the time to leave for handing over.
const endMin = 5 * time.Second

// checkEnd finds that a planned end of a node is none.
func checkEnd(f *Findings, cfg ddata.Config, grace time.Duration) {
	const setting = "Config.LeaveOnSIGTERM"
	leave := cfg.LeaveOnSIGTERM
	f.Add(leave == 0, Warning, setting, "set it, or call Node.Leave yourself when the process gets SIGTERM",
		"it is 0: SIGTERM ends the process at once, and what ran on the node is missing until the others have noticed")
	f.Add(grace > 0 && leave >= grace, Error, setting,
		"raise the grace period (terminationGracePeriodSeconds) above it, or lower it",
		"the node may take %v to leave, and is killed after %v: the others see a crash", leave, grace)
	service := time.Duration(0)
	for p := shutdown.BeforeServiceUnbind; p <= shutdown.BeforeClusterShutdown; p++ {
		service += cfg.ShutdownTimeouts[p]
	}
	f.Add(leave > 0 && service > 0 && service > leave-endMin, Warning, "Config.ShutdownTimeouts",
		"lower them, or raise LeaveOnSIGTERM",
		"the phases of the service may take %v of the %v in which the node is to leave: it may not get to hand over",
		service, leave)
}

// checkTiming finds timers that do not suit the network.
func checkTiming(f *Findings, cfg ddata.Config) {
	f.Add(cfg.Preset == ddata.Local && !isLoopback(advertised(cfg)), Warning, "Config.Preset", "use ddata.LAN",
		"Local is for nodes on one machine: a busy machine or network costs leases, and nodes are removed that live")
	f.Add(cfg.WriteBehind > 0 && cfg.RequestTimeout > 0 && cfg.RequestTimeout < 2*cfg.WriteBehind, Warning,
		"Config.RequestTimeout", "raise it, or lower WriteBehind",
		"%v, and durable writes wait up to %v for their commit: many of them time out", cfg.RequestTimeout,
		cfg.WriteBehind)
	t := cfg.Timing.Or(membership.LAN().Timing)
	f.Add(cfg.Preset == ddata.LAN && t.LeaseDuration < 3*time.Second, Warning, "Config.Timing.LeaseDuration",
		"use 4.25s or more", "%v: a pause of the process of that length costs the lease", t.LeaseDuration)
}

// checkSecurity finds ports that are open to everyone.
func checkSecurity(f *Findings, cfg ddata.Config) {
	f.Add(cfg.TLS == nil && !isLoopback(advertised(cfg)), Warning, "Config.TLS",
		"set it (pki.Load), or let only the nodes reach the port",
		"there is none: each process that reaches the port can join, read and write")
}

// advertised is the address under which others dial the node.
func advertised(cfg ddata.Config) string {
	if cfg.Advertise != "" {
		return cfg.Advertise
	}
	return cfg.Bind
}

// isLoopback reports whether only the own machine reaches an address.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Judge says what will go wrong with a node on a machine of these facts, whatever its configuration is. Check
// calls it.
func Judge(facts Facts) []Finding {
	var f Findings
	judgeNames(&f, facts)
	judgeCertificate(&f, facts)
	judgeDisk(&f, facts.Disk)
	judgeMemory(&f, facts.Memory)
	if p := facts.Port; p != nil {
		f.Add(p.Err != nil, Error, "Config.Bind", "give an address of this machine, and a port that nothing else has",
			"nothing can listen there: %v", p.Err)
	}
	if l := facts.Leases; l != nil {
		f.Add(l.Err != nil, Error, "Config.Leases", "see that the store runs and lets this node in",
			"no lease can be acquired and given back: %v", l.Err)
		f.Add(l.Err == nil && l.Took > leaseSlow, Warning, "Config.Leases",
			"place the store nearer, or see what makes it slow",
			"it took %v to acquire a lease and to give it back", l.Took.Round(time.Millisecond))
	}
	f.Add(facts.ClockUnsynchronized, Note, "clock", "run a time service, such as chrony",
		"the kernel's clock follows no other one: certificates and logs need the right time, leases do not")
	return f
}

// leaseSlow is how long two calls of a store of leases may take.
const leaseSlow = 2 * time.Second

func judgeNames(f *Findings, facts Facts) {
	for _, host := range slices.Sorted(maps.Keys(facts.Unresolved)) {
		f.Add(true, Warning, "Config.Seeds", "correct the name, or the name server of this machine",
			"%s has no address: %v", host, facts.Unresolved[host])
	}
	a := facts.Discovered
	if a == nil {
		return
	}
	missing := errors.Is(a.Err, discovery.ErrNoAddress)
	f.Add(missing, Warning, "Config.Discovery", "see that the nodes are started, and that the source names those "+
		"that are not ready", "it names no node: %v", a.Err)
	f.Add(a.Err != nil && !missing, Error, "Config.Discovery",
		"see that the source can be reached and has a whole answer",
		"no cluster is founded on its answer: %v", a.Err)
	f.Add(a.Err == nil && facts.Nodes > 0 && len(a.Addrs) < facts.Nodes, Note, "Config.Discovery",
		"start the others, or see why they are not named", "it names %d of %d nodes", len(a.Addrs), facts.Nodes)
	f.Add(facts.Nodes > 0 && len(a.Addrs) > facts.Nodes+max(facts.Surge, 1), Warning, "Config.Discovery",
		"see that only nodes of this cluster have its labels or its name",
		"it names %d nodes, and there are to be %d: the others delay a founding, for they must be heard", len(a.Addrs),
		facts.Nodes)
}

// renewBefore is how long before its end a certificate should have been renewed.
const renewBefore = 7 * 24 * time.Hour

func judgeCertificate(f *Findings, facts Facts) {
	c := facts.Certificate
	if c == nil {
		return
	}
	const setting = "Config.TLS"
	left := c.NotAfter.Sub(facts.Now)
	f.Add(left <= 0, Error, setting, "renew it", "the certificate has ended at %v: no node lets this one in",
		c.NotAfter.UTC().Format(time.RFC3339))
	f.Add(left > 0 && left < renewBefore && left < c.NotAfter.Sub(c.NotBefore)/3, Warning, setting,
		"renew it, and see why it was not", "the certificate ends in %v: connections fail from then on",
		left.Round(time.Minute))
	f.Add(facts.Now.Before(c.NotBefore), Error, setting, "set the clock of this machine, or of the one that has signed",
		"the certificate counts from %v, and it is %v here: no connection is made before",
		c.NotBefore.UTC().Format(time.RFC3339), facts.Now.UTC().Format(time.RFC3339))
	if facts.CertificateHost != "" {
		err := c.VerifyHostname(facts.CertificateHost)
		f.Add(err != nil, Error, setting,
			"have the certificate carry it, or set Files.Name of package pki to a name that "+
				"all carry", "other nodes refuse the certificate when they dial this one: %v", err)
	}
}

// diskSlow is how long a sync may take. At an eighth of it leases begin to wait for disks.
const diskSlow = 500 * time.Millisecond

func judgeDisk(f *Findings, d *Disk) {
	if d == nil || d.InUse {
		return
	}
	const setting = "Config.Dir"
	f.Add(d.Write != nil, Error, setting, "give the process a directory of its own that it may write to",
		"no file can be made in the directory: %v", d.Write)
	f.Add(d.Foreign != "", Error, setting, "give a directory within it, such as node",
		"it holds %s, which is no node's: the node does not start there", d.Foreign)
	f.Add(slices.Contains(remote, d.Kind), Error, setting, "use a local disk",
		"it is on a file system of the kind %s: the store maps its files, which needs a local disk", d.Kind)
	f.Add(d.Kind == tmpfs, Warning, setting, "use a disk",
		"it is in memory (tmpfs): it is gone with the machine or the pod")
	f.Add(d.Write == nil && d.Free < max(d.Stored, freeMin), Warning, setting, "make room",
		"%d MiB are free, and %d MiB are stored: a start that writes the file anew needs as much again", d.Free>>20,
		d.Stored>>20)
	f.Add(d.SyncTook > diskSlow, Warning, setting, "use a faster disk, or set WriteBehind",
		"a sync took %v: durable writes wait for as long, and leases for what is left",
		d.SyncTook.Round(time.Millisecond))
}

// freeMin is how many bytes should be free in any case.
const freeMin = 64 << 20

// tmpfs is the kind of file systems in memory.
const tmpfs = "tmpfs"

// remote are the kinds of file systems on the disks of other machines.
var remote = []string{"NFS", "SMB", "9P", "Ceph"}

func judgeMemory(f *Findings, m *Memory) {
	if m == nil {
		return
	}
	const headroom = 10 // percent
	f.Add(m.Limit > 0 && m.GoSoft == 0, Warning, "GOMEMLIMIT", "set it to about four fifths of the limit",
		"the limit of memory is %d MiB, and Go does not know it: the process may be killed although there is garbage",
		m.Limit>>20)
	f.Add(m.Limit > 0 && m.GoSoft > m.Limit-m.Limit*headroom/100, Warning, "GOMEMLIMIT",
		"set it to about four fifths of the limit",
		"it is %d MiB of a limit of %d MiB: pages of the store and stacks of C have no room beside it", m.GoSoft>>20,
		m.Limit>>20)
	f.Add(m.AddressSpace > 0 && m.AddressSpace < mapMin, Warning, "ulimit -v", "set no limit",
		"the address space is %d MiB: the store can map little, and grows in small steps with a pause each",
		m.AddressSpace>>20)
	f.Add(m.Processors > 0 && m.Processors < 1, Warning, "limit of processors", "set no limit, or one of 1 or more",
		"%.2f: a process that has used its share stands still, and may lose its lease", m.Processors)
}

// mapMin is the least address space with which the store seldom maps anew.
const mapMin = 8 << 30
