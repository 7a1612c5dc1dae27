package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// seeking is what the configuration says of looking for a cluster.
func (c *Config) seeking(common bootstrap.Common) bootstrap.Config {
	return bootstrap.Config{
		Common: common, Self: c.self(), Seeds: c.Seeds, Discovers: c.Discovers, Expect: c.BootstrapExpect,
		AnyDisks: c.BootstrapAnyDisks, DiskSince: c.DiskSince, DiskEnded: c.DiskEnded,
		Durable: c.DurableKeys, VotersMax: c.voters(), Strategy: c.Strategy, Enough: c.enough,
		Beat: c.HeartbeatInterval, StableAfter: c.StableAfter, Timeout: c.BootstrapTimeout,
		TTL: c.joinerTTL(), Promise: c.promise(),
		Defects: c.planted,
	}
}

// takeSeeking takes an input before the first view. A node without a view has nothing to hand off.
func (m *Machine) takeSeeking(in Input) {
	self := &m.member.self
	switch in := in.(type) {
	case Receive:
		m.onReceiveSeeking(in)
	case Hint:
		if in.Alive {
			m.seeker.Hint(m.now, in.Addr)
		}
	case Dialled: // it is about a member
	case Discovered:
		m.seeker.Discovered(m.now, in.Found, in.Err)
	case Leave, Stopped:
		m.end(ErrLeft)
	case CloseCluster:
		self.AskToClose()
	case CaughtUp:
		self.CatchUp(in.Yes)
	case Settled:
		self.Settle(in.Epoch)
	case Moved:
		self.Move(in.Number)
	case Agreed: // there is no view under which it could be so
	case Offer:
		self.Offer(in.Service)
	case Persisted:
		if m.member.storing.written(in) {
			m.seeker.LockStored(m.now)
		}
	case Suspended:
		m.member.leasing.holder.Suspend()
		m.wake = true
	}
	m.takeSeeker()
}

// onReceiveSeeking takes a message before the first view.
func (m *Machine) onReceiveSeeking(r Receive) {
	if r.isSenseless(m.cfg.UID) {
		m.stats.DroppedBad++
		return
	}
	switch msg := r.Msg.(type) {
	case bootstrap.Probe:
		if msg.Self.UID != r.From {
			m.stats.DroppedBad++
			return
		}
		m.seeker.OnProbe(m.now, msg)
	case bootstrap.JoinReply, bootstrap.Refuse, bootstrap.Locked:
		m.seeker.Receive(m.now, r.From, r.FromAddr, r.Msg)
	case message.Commit:
		m.seeker.OnFirstView(m.now, msg.View)
		m.takeSeeker()
		if m.seeker == nil {
			m.member.ending.answerCommit(r, msg.View)
		}
	case message.Current:
		cluster, _ := msg.In()
		m.heardOf(r, cluster)
	case message.Fetch, message.Learned:
		m.stats.DroppedStale++
	}
}

// heardOf asks a node that speaks of a cluster for its view.
func (m *Machine) heardOf(r Receive, c view.ClusterID) {
	m.seeker.HeardCluster(m.now, c)
	m.takeSeeker()
	m.fx.send(r.From, r.FromAddr, message.Fetch{Cluster: c})
}

// takeSeeker carries out what the calls of the seeker want done, if this node still seeks.
func (m *Machine) takeSeeker() {
	if m.seeker == nil {
		return
	}
	out := m.seeker.Output()
	m.stats.drop(out.Dropped)
	for _, e := range out.Send {
		m.fx.send(e.To, e.Addr, e.Msg)
	}
	for _, reason := range out.Waiting {
		m.fx.event(Waiting{reason})
	}
	m.goOn(out.Wake, out.Due)
	for _, v := range out.Install {
		m.becomeMember(v)
	}
	switch {
	case out.Stalled != "":
		m.end(&StalledError{Waiting: out.Stalled, Least: out.Least})
	case out.Refused != nil:
		m.end(&RefusedError{By: out.Refused.By, Reason: out.Refused.Reason, Text: out.Refused.Text})
	}
}

// becomeMember installs a view with which the seeking has ended; the second one follows the first.
func (m *Machine) becomeMember(v *view.View) {
	switch {
	case m.done != nil:
	case m.seeker == nil:
		m.member.install(v)
	default:
		candidates := m.seeker.Candidates(m.now)
		m.seeker = nil
		m.member.begin(v, candidates)
	}
}
