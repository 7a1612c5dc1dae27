package transport

import (
	"runtime"
	"time"
	"unicode/utf8"

	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
	"github.com/coterie-go/coterie/ddata/transport/tcp"
)

// Config configures a Mesh. It is copied; zero fields take their defaults.
type Config struct {
	// Cluster is the name that both ends of a connection must share. 1 to 255 bytes of UTF-8.
	Cluster string
	// Self is this process's uid. Required: the caller draws it once per start.
	Self NodeID
	// Bind is the address (host:port) to listen at. Port 0 picks a free one.
	Bind string
	// Advertise is the address (host:port) at which others dial this node. Default: the
	// one that the listener got, which is of use only when Bind names a host that others can reach.
	Advertise string

	// Formats are the format levels that the node speaks. It refuses the connections of a node that
	// speaks none of them. Default: those of this build.
	Formats format.Range

	// FrameMax bounds a payload, in bytes; in the Data lane, what is larger travels in several
	// frames. A node refuses connections of one with a higher limit. Default 1 MiB, 16 bytes to 64
	// MiB. Large frames delay what is behind them.
	FrameMax int
	// MessageMax bounds a payload in the Data lane, in bytes. Sender and receiver hold a message
	// whole; of all that one peer has under way in parts, a receiver holds so much, and lets the
	// rest wait unread. A node refuses connections of one with a higher limit. Default 16 MiB, or
	// FrameMax if that is more; at most 1 GiB.
	MessageMax int
	// DataStripes is how many connections the Data lane has per direction. More stripes use more
	// cores and sockets, and make smaller batches. Default half of GOMAXPROCS, 1 to 8; at most 256.
	DataStripes uint32
	// ControlQueueMax bounds the bytes queued in a Control lane: it must hold what
	// the layers above send while a peer reconnects. Default 16 MiB. The one frame
	// that crosses a bound is still taken, so a bound may be below FrameMax.
	ControlQueueMax int
	// DataQueueMax bounds the bytes queued in one Data stripe. Higher absorbs longer
	// bursts and adds delay. Default 1 MiB.
	DataQueueMax int
	// DataKeepMax bounds the bytes of one Data stripe that were written and that the other side has
	// not acknowledged: they are sent again when the connection breaks. Below what is on its way on
	// a fast, long network it limits the throughput. The buffers they stand in may have twice as
	// many. Default 4 MiB, at least 256 KiB.
	DataKeepMax int
	// BulkQueueMax bounds the bytes queued in a Bulk lane. Default 4 MiB.
	BulkQueueMax int
	// PacketQueueMax bounds the bytes behind which SendPacket still adds. Default 256 KiB.
	PacketQueueMax int

	// ConnsMax bounds the connections that others have to this node, and streams. A connection
	// beyond it is turned away and counted. A member has two, and one for each Data stripe. Each
	// costs some 20 KB while it is quiet. Default 16384.
	ConnsMax int

	// DialTimeout bounds connecting and a TLS handshake. Default 2 s.
	DialTimeout time.Duration
	// HelloTimeout bounds the wait for a hello or for its answer. It must exceed
	// DrainTimeout. Default 5 s.
	HelloTimeout time.Duration
	// WriteTimeout bounds one write; then the connection is given up. It is also the
	// time after which the kernel gives up unacknowledged bytes. Default 5 s.
	WriteTimeout time.Duration
	// DrainTimeout bounds how long a receiver waits for the end of a connection whose
	// successor has come. Default 1 s.
	DrainTimeout time.Duration
	// KeepAlive is the idle time after which TCP probes a connection. Default 5 s.
	KeepAlive time.Duration
	// BackoffMin and BackoffMax bound the jittered pause between attempts to
	// connect. Defaults 20 ms and 2 s.
	BackoffMin, BackoffMax time.Duration
	// AddrIdle is after how long without a frame a connection of SendAddr is closed. Default 30 s.
	AddrIdle time.Duration
	// Linger bounds how long RemovePeer and Close go on writing what is queued, how long Close
	// waits for the others to end, and how long Flush waits for a receipt. Default 1 s.
	Linger time.Duration

	// TLS, when set, secures every connection. Default: none, and any process that reaches the port
	// can join.
	TLS TLS

	// Network makes the connections. Default: TCP.
	Network Network
	// OnEvent hears of what happens to the connections of the node. It runs on the goroutine on
	// which the thing happens, several at a time, and must not block; it may send. Default: none.
	OnEvent func(Event)
}

// Validate reports all faults of c together.
func (c *Config) Validate() error {
	var f config.Faults
	f.Add(c.Cluster == "", "Cluster", "is empty; give every cluster a name")
	f.Add(len(c.Cluster) > nameMax || !utf8.ValidString(c.Cluster),
		"Cluster", "must be at most %d bytes of UTF-8", nameMax)
	f.Add(c.Self == 0, "Self", "is zero; draw a new uid at every start")
	f.Of("TLS", CheckTLS(c.TLS))
	f.Of("Bind", address.CheckListen(c.Bind))
	if c.Advertise != "" {
		f.Of("Advertise", address.CheckAdvertised(c.Advertise))
	}
	d := c.WithDefaults()
	f.Of("Formats", d.Formats.Check())
	f.Add(d.FrameMax < frameMaxLeast || d.FrameMax > frame.MaxLimit,
		"FrameMax", "%d is not within %d..%d", d.FrameMax, frameMaxLeast, frame.MaxLimit)
	f.Add(d.MessageMax < d.FrameMax || d.MessageMax > messageMaxLimit,
		"MessageMax", "%d is not within FrameMax %d..%d", d.MessageMax, d.FrameMax, messageMaxLimit)
	f.Add(d.DataStripes > stripesLimit, "DataStripes", "%d is above %d", d.DataStripes, stripesLimit)
	for _, n := range []struct {
		name string
		max  int
	}{
		{"ControlQueueMax", d.ControlQueueMax}, {"DataQueueMax", d.DataQueueMax},
		{"BulkQueueMax", d.BulkQueueMax}, {"PacketQueueMax", d.PacketQueueMax}, {"ConnsMax", d.ConnsMax},
	} {
		f.Add(n.max < 1, n.name, "%d is negative", n.max)
	}
	f.Add(d.DataKeepMax < 4*receipt.Every, "DataKeepMax", "%d is below %d", d.DataKeepMax, 4*receipt.Every)
	for _, t := range []struct {
		name string
		time time.Duration
	}{
		{"DialTimeout", d.DialTimeout}, {"HelloTimeout", d.HelloTimeout}, {"WriteTimeout", d.WriteTimeout},
		{"DrainTimeout", d.DrainTimeout}, {"KeepAlive", d.KeepAlive}, {"BackoffMin", d.BackoffMin},
		{"AddrIdle", d.AddrIdle}, {"Linger", d.Linger},
	} {
		f.Add(t.time < 0, t.name, "%v is negative", t.time)
	}
	f.Add(d.BackoffMax < d.BackoffMin, "BackoffMax", "%v is below BackoffMin %v", d.BackoffMax, d.BackoffMin)
	f.Add(d.HelloTimeout <= d.DrainTimeout, "HelloTimeout", "%v must exceed DrainTimeout %v",
		d.HelloTimeout, d.DrainTimeout)
	return f.Err("transport: Config")
}

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c Config) WithDefaults() Config {
	config.Default(&c.Formats, format.Build())
	config.Default(&c.FrameMax, DefaultFrameMax)
	config.Default(&c.MessageMax, max(DefaultMessageMax, c.FrameMax))
	config.Default(&c.DataStripes, defaultDataStripes())
	config.Default(&c.ControlQueueMax, DefaultControlQueueMax)
	config.Default(&c.DataQueueMax, DefaultDataQueueMax)
	config.Default(&c.DataKeepMax, DefaultDataKeepMax)
	config.Default(&c.BulkQueueMax, DefaultBulkQueueMax)
	config.Default(&c.PacketQueueMax, DefaultPacketQueueMax)
	config.Default(&c.ConnsMax, DefaultConnsMax)
	config.Default(&c.DialTimeout, defaultDialTimeout)
	config.Default(&c.HelloTimeout, defaultHelloTimeout)
	config.Default(&c.WriteTimeout, defaultWriteTimeout)
	config.Default(&c.DrainTimeout, defaultDrainTimeout)
	config.Default(&c.KeepAlive, defaultKeepAlive)
	config.Default(&c.BackoffMin, defaultBackoffMin)
	config.Default(&c.BackoffMax, max(defaultBackoffMax, c.BackoffMin))
	config.Default(&c.AddrIdle, defaultAddrIdle)
	config.Default(&c.Linger, defaultLinger)
	if c.Network == nil {
		c.Network = tcp.Network{KeepAlive: c.KeepAlive, UserTimeout: c.WriteTimeout}
	}
	return c
}

// defaultDataStripes leaves the other half of the processors to the code that uses what arrives.
func defaultDataStripes() uint32 { return uint32(min(8, max(1, runtime.GOMAXPROCS(0)/2))) }
