// What bounds the bytes in flight: a publisher may be so many batches ahead of its
// answers, and all publishers together so many batches ahead of the slowest observer.
// With that no server has reason to drop a message or close a connection.

/// Counts batches from being sent to having reached everyone.
struct SendWindow {
    private let perPublisher: Int
    private let inAll: Int
    private let observers: Int
    /// Batches sent, by all publishers.
    private(set) var sent = 0
    /// Batches that every observer has read.
    private(set) var reached = 0
    /// How many observers have read as far as each batch after `reached`.
    private var arrivals: [Int]

    init(_ workload: Workload) {
        perPublisher = workload.window
        inAll = workload.window * workload.publishers
        observers = workload.tellsEach ? workload.observers : 0
        arrivals = Array(repeating: 0, count: inAll + workload.publishers + 1)
    }

    /// Whether observers leave room for one more batch.
    var isOpen: Bool { observers == 0 || sent - reached < inAll }

    /// Whether a publisher's answers leave room for one more batch as well.
    func isOpen(sent: Int, answered: Int) -> Bool { isOpen && sent - answered < perPublisher }

    /// Whether all that was sent has reached every observer.
    var isEmpty: Bool { observers == 0 || sent == reached }

    mutating func noteSent() {
        sent += 1
    }

    /// An observer that had read `before` batches has now read `now` of them.
    mutating func noteArrival(before: Int, now: Int) {
        for batch in before..<now { arrivals[batch % arrivals.count] += 1 }
        while arrivals[reached % arrivals.count] == observers, reached < sent {
            arrivals[reached % arrivals.count] = 0
            reached += 1
        }
    }
}
