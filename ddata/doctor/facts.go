package doctor

import (
	"crypto/x509"
	"time"

	"github.com/coterie-go/coterie/ddata/discovery"
)

// Plan is what the configuration of one node does not say of its surroundings. Zero fields are not known, and
// not judged.
type Plan struct {
	// Nodes is how many nodes there are to be.
	Nodes int
	// Surge is how many more there are while a new version is rolled out.
	Surge int
	// Grace is the time from SIGTERM to SIGKILL.
	Grace time.Duration
}

// Facts are what a node will find. A part that is nil was not looked at.
type Facts struct {
	Plan
	// Now is the time of day.
	Now time.Time
	// ClockUnsynchronized says that the kernel knows of no source for its clock.
	ClockUnsynchronized bool
	// Discovered is an answer of Config.Discovery.
	Discovered *discovery.Answer
	// Unresolved are hosts of Config.Seeds and Config.Advertise that have no address, with why.
	Unresolved map[string]error
	// Certificate is that of Config.TLS.
	Certificate *x509.Certificate
	// CertificateHost is what it must be good for: the host of the address under which others dial the node, or
	// the name that Config.TLS says.
	CertificateHost string
	// Port says what hinders the node from listening at Config.Bind.
	Port *Trial
	// Disk is what lies under Config.Dir.
	Disk *Disk
	// Leases says whether Config.Leases can be used.
	Leases *Trial
	// Memory are the limits of the process.
	Memory *Memory
}

// Trial is whether something could be done.
type Trial struct {
	Err  error // nil if it could
	Took time.Duration
}

// Disk is what lies under a directory.
type Disk struct {
	Write    error  // nil if a file could be made and synced
	InUse    bool   // a node has the directory
	Foreign  string // a file that no node makes
	Kind     string // of the file system, if it is one on which a node should not be
	Free     uint64 // bytes
	Stored   uint64 // bytes of the files that are there
	SyncTook time.Duration
}

// Memory are limits in bytes. 0 is none.
type Memory struct {
	Limit  uint64 // of the control group
	GoSoft uint64 // GOMEMLIMIT
	// AddressSpace is the limit of the address space (ulimit -v).
	AddressSpace uint64
	// Processors are as many as the control group lets run at a time. 0 is no limit.
	Processors float64
}
