// Limits how many batches are on their way. A publisher may be only so far ahead of its answers, and all
// publishers together only so far ahead of the slowest observer. So no server has a reason to drop a
// message or to close a connection.

/// Counts batches from sending until every observer has them.
struct SendWindow {
    private let perPublisher: Int
    private let inAll: Int
    private let observers: Int
    /// The number of batches that were sent, by all publishers.
    private(set) var sent = 0
    /// The number of batches that every observer has read.
    private(set) var reached = 0
    /// For each batch after `reached`: how many observers have read it.
    private var arrivals: [Int]

    init(_ workload: Workload) {
        perPublisher = workload.window
        inAll = workload.window * workload.publishers
        observers = workload.tellsEach ? workload.observers : 0
        arrivals = Array(repeating: 0, count: inAll + workload.publishers + 1)
    }

    /// Whether the observers allow one more batch.
    var isOpen: Bool { observers == 0 || sent - reached < inAll }

    /// Whether a publisher's answers allow one more batch, too.
    func isOpen(sent: Int, answered: Int) -> Bool { isOpen && sent - answered < perPublisher }

    /// Whether everything that was sent has reached every observer.
    var isEmpty: Bool { observers == 0 || sent == reached }

    mutating func noteSent() {
        sent += 1
    }

    /// Notes that an observer has now read `now` batches. Before, it had read `before`.
    mutating func noteArrival(before: Int, now: Int) {
        for batch in before..<now { arrivals[batch % arrivals.count] += 1 }
        while arrivals[reached % arrivals.count] == observers, reached < sent {
            arrivals[reached % arrivals.count] = 0
            reached += 1
        }
    }
}
