// Package roles has the settings of single roles of a node, as ddata.Config.PerRole has them.
//
// # Nouns
//
//	Config    what is different for one role: how many members it needs, and how its data is kept
//	Configs   those of a node, by role
//
// # Guarantees
//
//   - What is said of one role changes nothing in another one.
//   - What members of all roles compare cannot be said of one.
//
// # Not guaranteed
//
//   - That nodes say the same of a role. Only durable keys are agreed on, by a view.
package roles
