// Package formats is the contract that each container fulfils.
//
// A [Format] recognises a container and opens it; the [Media] it returns knows
// what the container's index says and answers a [Selection] with a [Plan]: the
// clip as plain data, literal bytes and byte ranges. Package formatstest holds
// the conformance suite that every container passes.
//
// How to add a container: a package of its own that implements Format and
// Media over a [seek.Window]; an entry in the client's list; a test that runs
// formatstest over real files; and a line in the README's table.
package formats
