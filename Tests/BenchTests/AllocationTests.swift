import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard_bench

/// The publish path allocates no memory when everything has reached its final size.
@Suite("Allocations", .someAtATime)
struct AllocationTests {
    /// The folder of glibc's debugging library.
    private static let canTrace = [
        "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib",
    ].contains { FileStatus(path: "\($0)/\(AllocationTrace.library).so.0").kind == .file }

    /// A release build must find none with `plugboard bench --allocations`. A debug build allocates for
    /// calls that an optimized build specializes.
    @Test(
        "a broker that allocates with each message is found and named",
        .enabled(if: canTrace, "glibc's tracing isn't here")
    )
    func found() throws {
        var results: [AllocationCheck.Result] = []
        let workload = Workload("small").with { $0.observers = 2 }
        // Only once and with few messages, because glibc writes down every allocation of a debug
        // build.
        var options = BenchOptions()
        options.secondsPerRun = 0.005
        let bench = Bench(options: options, programs: Products.programs, signals: nil)
        let check = AllocationCheck(
            workloads: [workload, workload.with { $0.writing = #""while":"connected""# }],
            triesMax: 1,
            count: Allocations(bench: bench).count
        )
        try check.run { results.append($0) }
        #expect(results.count == 2)
        let count = try #require(results.last?.count)
        #expect(count.messages >= 384 && count.allocations > count.messages)
        #expect(results.last?.isFree == false)
        #expect(results.last?.text.hasPrefix("small: ") == true)
    }

    @Test("a row is counted until a try has no allocation, five times at most")
    func tries() throws {
        for (found, tries) in [([0, 9], 1), ([3, 1, 0, 9], 3), ([5, 4, 3, 2, 1, 0], 5)] {
            var left = found[...]
            let check = AllocationCheck(workloads: [Workload("w")]) { _ in
                Allocations.Count(messages: 1, allocations: left.removeFirst(), frames: 0)
            }
            let areFree = try check.run { #expect($0.count?.allocations == found[tries - 1]) }
            #expect(areFree == (found[tries - 1] == 0) && left.count == found.count - tries)
        }
    }

    @Test("every row that publishes messages is checked, except those that are known to need memory")
    func checked() {
        let names = AllocationCheck.standard.map(\.name)
        for name in ["publish", "publish-100000-keys", "1→1", "1→1000", "8→1", "1→10-old", "publish-cause"] {
            #expect(names.contains(name), "\(name)")
        }
        #expect(!names.contains("start") && !names.contains("round-trip-1"))
        #expect(Set(Workloads.usual.map(\.name)).isSuperset(of: AllocationCheck.exempt))
    }

    @Test("a row alone waits for as little as in the whole check")
    func alone() throws {
        let row = try #require(Workloads.inMemory.first { $0.name == "1→100-1KiB" })
        let window = try #require(AllocationCheck.rows([row]).first?.window)
        #expect(window < row.window)
        #expect(window == AllocationCheck.standard.first { $0.name == row.name }?.window)
    }

    @Test("zero allocations pass, one fails, and an unknown count does neither")
    func judged() {
        let result = { (allocations: Int?) in
            AllocationCheck.Result(
                workload: Workload("w"),
                count: allocations.map { Allocations.Count(messages: 1000, allocations: $0, frames: 0) }
            )
        }
        #expect(result(0).isFree == true && result(1).isFree == false && result(nil).isFree == nil)
        #expect(result(2).text == "w: 2 allocations in 1,000 messages")
        #expect(result(nil).text == "w: not counted")
    }

    @Test("allocations are noticed if there are any", .enabled(if: canTrace, "glibc's tracing isn't here"))
    func seen() throws {
        let folder = try TemporaryFolder(named: "pbt")
        let log = folder.path + "/trace"
        let dialect = PlugboardDialect(programs: Products.programs, allocationLog: log)
        let server = try MeasuredServer(dialect, for: Workload("none"), Products.programs)
        let links = try (0..<4).map { _ in
            // It was greeted, so that the trace begins after it.
            let link = try server.connectWhenReady()
            try dialect.open(link, workload: Workload("none"), as: .observer)
            return link
        }
        server.signal(SIGUSR1)
        #expect(Patience.wait(seconds: HangGuard.seconds) { AllocationTrace.hasBegun(log: log) })
        for (number, link) in links.enumerated() {
            try dialect.subscribe(link, to: [Names.restingKey(number)], Workload("none"))
        }
        server.signal(SIGUSR2)
        #expect(Patience.wait(seconds: HangGuard.seconds) { AllocationTrace.isFlushed(log: log) })
        let counts = try AllocationLog(path: log).counts()
        #expect(counts.allocations - counts.frames >= links.count)
    }

    @Test("a trace is read line by line: memory that is allocated and moved counts, returned memory doesn't")
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
        #expect(AllocationLog(Array(text.utf8)).counts() == (4, 1))
        #expect(AllocationLog(Array((text + "@ /a/plugboard:[0x1").utf8)).counts() == (4, 1))
    }
}
