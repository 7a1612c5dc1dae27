package view

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// seal is a number that stands for everything that an installed view says. It is made of the fields
// as they lie in memory, which costs a tenth of what hashing their encoding does: it is for seeing
// that they were not changed. It never leaves the process.
type seal uint64

func (s *seal) number(xs ...uint64) {
	for _, x := range xs {
		hi, lo := bits.Mul64(uint64(*s)^x^0x9e3779b97f4a7c15, 0xd1342543de82ef95)
		*s = seal(hi ^ lo + x)
	}
}

func (s *seal) text(t string) { s.number(xxh3.HashString(t), uint64(len(t))) }

func (s *seal) texts(ts []string) {
	s.number(uint64(len(ts)))
	for _, t := range ts {
		s.text(t)
	}
}

func (s *seal) truth(b bool) {
	if b {
		s.number(1)
	} else {
		s.number(2)
	}
}

func (s *seal) hash(h Hash) {
	s.number(binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:]))
}

// seal returns that of the view and of what follows from it.
func (i *Installed) seal() (s seal) {
	s.view(i.View)
	s.hash(i.Digest)
	s.truth(i.Capped)
	s.members(i.Voters)
	return s
}

func (s *seal) view(v *View) {
	s.number(uint64(v.Format), uint64(v.Cluster), uint64(v.Epoch), uint64(v.LastUp), v.ConfigHash, uint64(v.VotersMax),
		uint64(v.Era), uint64(v.Moves), uint64(len(v.Unsettled)), uint64(len(v.Lines)))
	s.hash(v.Parent)
	s.members(v.Members)
	s.truth(v.Founded)
	s.truth(v.Closing)
	for _, set := range v.Unsettled {
		s.number(uint64(set.Epoch), uint64(len(set.Disks)))
		s.text(set.Role)
		for _, d := range set.Disks {
			s.number(uint64(d))
		}
	}
	s.texts(v.Durable)
	s.texts(v.Moving)
	for _, l := range v.Lines {
		s.text(l.Service.Role)
		s.text(l.Service.Name)
		s.number(uint64(len(l.Members)))
		for _, u := range l.Members {
			s.number(uint64(u))
		}
	}
	s.ages(v.Ages)
}

func (s *seal) ages(a *Ages) {
	s.truth(a == nil)
	if a == nil {
		return
	}
	s.number(uint64(a.Came), uint64(a.AgreedIn), uint64(a.Began))
	for _, r := range []Retirement{a.Ended, a.Ending} {
		s.number(uint64(r.Below), uint64(r.Moves), uint64(len(r.Spared)))
		for _, u := range r.Spared {
			s.number(uint64(u))
		}
	}
}

func (s *seal) members(ms []Member) {
	s.number(uint64(len(ms)))
	for i := range ms {
		m := &ms[i]
		s.number(uint64(m.UID), uint64(m.Status), uint64(m.UpNumber), uint64(m.Disk),
			uint64(m.Formats.Min), uint64(m.Formats.Max))
		s.text(m.Addr)
		s.texts(m.Roles)
		s.text(m.AppVersion)
	}
}
