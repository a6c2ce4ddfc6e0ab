import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBench

/// The publish path asks the system for no memory once everything has its size.
@Suite("Allocations", .oneAtATime)
struct AllocationTests {
    /// Where glibc's debugging library lies.
    private static let canTrace = [
        "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib",
    ].contains { FileStatus(path: "\($0)/\(AllocationTrace.library).so.0").kind == .file }

    private static let workloads: [Workload] = [
        Workload("publish, no observer").with { $0.batch = 64 },
        Workload("each publish answered").with {
            $0.batch = 64
            $0.isAcknowledged = true
        },
        Workload("1→1").with { $0.observers = 1 },
        Workload("1→10").with { $0.observers = 10 },
        Workload("2,000 keys in turn").with { $0.keys = 2000 },
        Workload("2,000 keys in turn, observed").with {
            $0.keys = 2000
            $0.observers = 1
        },
        Workload("1→10, old values as well").with {
            $0.observers = 10
            $0.subscribing = #""old":true"#
        },
        Workload("100 patterns, 10 match").with {
            $0.observers = 1
            $0.interest = .patterns(100, matching: 10)
            $0.batch = 16
        },
    ]

    /// A debug build allocates for calls that an optimised one specialises.
    private static let isOptimised: Bool = {
        var isDebug = false
        assert(
            {
                isDebug = true; return true
            }()
        )
        return !isDebug
    }()

    /// On a busy machine a turn may take in more than any before it, and something grow for the
    /// last time. That is once; what happens again and again is in every try.
    @Test(
        "none in steady state",
        .enabled(
            if: canTrace && isOptimised,
            "needs a release build (swift test -c release) and glibc's tracing"
        ),
        arguments: workloads
    )
    func none(workload: Workload) throws {
        let counting = Allocations(programs: Products.programs, signals: nil)
        var count = try #require(try counting.count(workload))
        for _ in 0..<4 where count.byBroker > 0 { count = try #require(try counting.count(workload)) }
        #expect(count.messages >= 10_000)
        #expect(count.byBroker == 0, "\(workload.name): \(count)")
    }

    @Test(
        "those that there are would be seen",
        .enabled(
            if: canTrace && isOptimised,
            "needs a release build (swift test -c release) and glibc's tracing"
        )
    )
    func seen() throws {
        let folder = try TemporaryFolder(named: "pbt")
        let log = folder.path + "/trace"
        let dialect = PlugboardDialect(program: Products.programs.plugboard, allocationLog: log)
        let server = try #require(try Server(dialect, programs: Products.programs))
        let links = try (0..<4).map { _ in try server.connectWhenReady() }
        server.signal(SIGUSR1)
        try wait { FileStatus(path: log).kind == .file }
        for (number, link) in links.enumerated() {
            try dialect.subscribe(link, key: Names.restingKey(number))
        }
        server.signal(SIGUSR2)
        try wait { try Trace(path: log).isComplete }
        let trace = try Trace(path: log)
        #expect(trace.allocations - trace.frames >= links.count)
    }

    private func wait(_ isTrue: () throws -> Bool) throws {
        let deadline = MonotonicClock.nanoseconds() + 20_000_000_000
        while try !isTrue() {
            try #require(MonotonicClock.nanoseconds() < deadline)
            Pause.sleep(seconds: 0.002)
        }
    }

    @Test("a trace is read line by line: memory given out and moved, not what is returned")
    func trace() {
        let text = """
            = Start
            @ /lib/libswiftCore.so:(swift_slowAlloc+1f)[0x46fa6f] + 0x5654109b12b0 0x18
            @ /a path/plugboard:[0x1000] + 0x5654109b12d0 0x18
            @ /lib/libswiftCore.so:[0x2910ba] + 0x5654109b12f0 0x20
            @ /a + b/plugboard:[0x1000] - 0x5654109b12d0
            @ /a/plugboard:[0x1000] < 0x5654109b12b0
            @ /a/plugboard:[0x1000] > 0x5654109b1400 0x40

            """
        var trace = Trace()
        for byte in text.utf8 { trace.take([byte]) }
        #expect(trace.allocations == 4)
        #expect(trace.frames == 1)
        #expect(!trace.isComplete)
        trace.take(Array("= End\n".utf8)[...])
        #expect(trace.isComplete)
    }
}
