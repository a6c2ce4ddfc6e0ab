// Opens and closes everything in the library many times, and prints what is left.

import Observables
import PlugboardClient
import PlugboardPosix

/// Prints the descriptors and threads before and after. They must be the same.
func leaks() async throws {
    // One round before counting, so that everything exists that a process makes only once (shared
    // threads).
    for _ in 0..<3 { try await round() }
    let before = try await settled(from: nil)
    for _ in 0..<100 { try await round() }
    let after = try await settled(from: before)
    print("descriptors \(before.descriptors) \(after.descriptors) threads \(before.threads) \(after.threads)")
}

private struct Usage: Equatable {
    let descriptors: Int
    let threads: Int
}

/// A bus with everything on it, ended in one of the possible ways.
private func round() async throws {
    let closed = try await Bus.connect(name: "leaks")
    let sequence = try await closed.subscribe("**")
    let observation = try await closed.subscribe("**") { _ in }
    let observable = closed.observable("k", default: 0)
    let inner = observable.observe { _ in }
    try await observable.ready()
    observable.value += 1
    try await closed.sync()
    closed.close()
    for try await _ in sequence {}
    observation.dispose()
    inner.dispose()

    let released = try await Bus.connect()
    let kept = try await released.subscribe("k")
    try await released.publish("k", 1)
    kept.cancel()

    let finished = try await Bus.connect()
    try finished.pipeline.publish("k", 2)
    await finished.finish()
    if (try? await Bus.connect(path: "/nowhere/bus.sock")) != nil { print("somebody is nowhere") }
}

/// What is in use after threads that were ending have ended. Waits for `wanted`, or until two looks give
/// the same.
private func settled(from wanted: Usage?) async throws -> Usage {
    var last = Usage(descriptors: -1, threads: -1)
    for _ in 0..<500 {
        let usage = Usage(descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"))
        if usage == wanted ?? last { return usage }
        last = usage
        try await Task.sleep(for: .milliseconds(wanted == nil ? 100 : 10))
    }
    return last
}

private func entries(_ path: String) -> Int {
    guard let folder = opendir(path) else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
}
