// The permissions that a test has seen.

import PlugboardPosix
import Synchronization

final class Modes: Sendable {
    private let seen = Mutex<Set<mode_t>>([])
    var all: Set<mode_t> { seen.withLock { $0 } }
    func add(_ mode: mode_t) { seen.withLock { _ = $0.insert(mode) } }
}
