package view

// Settlement is up to which epoch each role of a view is settled, as far as a node has heard: of
// each role, the word of one of its members is enough, because that a view is settled stays true.
// It is counted when a view is installed, and goes on with what each of its members says.
//
// Invariant: roles are those of the view's voters, sorted, with an element of most for each.
type Settlement struct {
	epoch Epoch // of the view
	roles []string
	most  []Epoch // that a member with the role has said
}

// Settle starts the Settlement of a view with what each member has said.
func Settle(v *View, said func(UID) Epoch) *Settlement {
	roles := rolesOfVoters(v)
	s := &Settlement{epoch: v.Epoch, roles: roles, most: make([]Epoch, len(roles))}
	for _, o := range v.Members {
		s.Say(o, said(o.UID))
	}
	return s
}

// Say takes the word of a member that the views before an epoch are settled.
func (s *Settlement) Say(o Member, e Epoch) {
	for i, r := range s.roles {
		if e > s.most[i] && o.HasRole(r) {
			s.most[i] = e
		}
	}
}

// Settled is the newest epoch that is settled in every role, at most that of the view.
func (s *Settlement) Settled() Epoch {
	least := s.epoch
	for _, e := range s.most {
		least = min(least, e)
	}
	return least
}
