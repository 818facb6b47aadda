// Package formatstest holds what every container must keep to, whatever its
// layout, and a container made for tests.
//
// To add a container to the suite, call [Run] in a test of its package, once
// for each file that differs in kind:
//
//	func TestConformance(t *testing.T) {
//		formatstest.Run(t, formatstest.Case{
//			Format: Format{},
//			Source: seektest.New(data),
//			Selections: []formats.Selection{
//				{Interval: fragment.Between(fragment.Seconds(2), fragment.Seconds(5))},
//				{Interval: fragment.From(fragment.Time{}), Timeline: formats.Original},
//			},
//		})
//	}
//
// Choose selections that differ in what the container does for them: starts on
// and beside a random access point, the first and the last second, an open end,
// each form, timeline and layout, each set of tracks. Where a medium consists of
// several resources, give an Opener that knows them all.
//
// The suite says nothing of whether a clip plays, or holds the right pictures:
// that is for tests with decoders. It says that a clip is the same bytes however
// it is read, that its plan is plain, consistent and the same every time, and
// that errors are those of the contract. To add to it, write a check: a function
// of a [Case] that returns what is wrong, add it to checks, and break [Fake] in
// its test so that the check fails.
package formatstest
