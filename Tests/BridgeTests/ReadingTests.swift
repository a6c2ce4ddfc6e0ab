import Foundation
import PlugboardMemory
import TestSupport
import Testing

@testable import BridgePlugin

@Suite("etcd's answers are read without a decoder")
struct ReadingTests {
    private func read<Reply: EtcdReadable>(_ text: String, as type: Reply.Type = Reply.self) throws -> Reply {
        try Reply(Array(text.utf8).span)
    }

    @Test("a line of a watch, with members that nobody knows")
    func watch() throws {
        let text = #"""
            {"result":{"header":{"cluster_id":"14776354809947336684","member_id":"9","revision":"7"},
             "events":[{"kv":{"key":"L3A=","mod_revision":"7","version":"1","value":"w6k=","lease":"3"}},
             {"type":"DELETE","prev_kv":{},"kv":{"key":"","mod_revision":8}}]}}
            """#
        let result = try #require(try read(text, as: EtcdWatchLine.self).result)
        let cluster: UInt64 = 14_776_354_809_947_336_684
        #expect(result.header?.cluster_id?.value == Int(truncatingIfNeeded: cluster))
        #expect(result.header?.revision?.value == 7)
        let events = try #require(result.events)
        #expect(events.map(\.type) == [nil, "DELETE"])
        #expect(events.map(\.kv.key) == [Data("/p".utf8), Data()])
        #expect(events.map(\.kv.value) == [Array("é".utf8), nil])
        #expect(events.map(\.kv.mod_revision?.value) == [7, 8])
        #expect(events.map(\.kv.lease?.value) == [3, nil])
    }

    @Test("how a watch ends")
    func ends() throws {
        let canceled = #"{"result":{"canceled":true,"cancel_reason":"a \"b\"","compact_revision":"26"}}"#
        let result = try #require(try read(canceled, as: EtcdWatchLine.self).result)
        #expect(result.canceled == true && result.created == nil)
        #expect(result.cancel_reason == "a \"b\"" && result.compact_revision?.value == 26)
        let failed = try read(#"{"error":{"grpc_code":14,"message":"no leader"}}"#, as: EtcdWatchLine.self)
        #expect(failed.error?.message == "no leader")
    }

    @Test("the reply to a transaction")
    func transaction() throws {
        let done = try read(#"{"header":{"revision":"5"},"succeeded":true}"#, as: EtcdTransactionReply.self)
        #expect(done.succeeded == true && done.header?.revision?.value == 5 && done.responses == nil)
        let range = #"{"kvs":[{"key":"aw=="}],"more":true,"count":"2"}"#
        let failed = try read(
            #"{"responses":[{"response_range":\#(range)},{"response_put":{}}]}"#,
            as: EtcdTransactionReply.self
        )
        #expect(failed.succeeded == nil && failed.responses?.count == 2)
        let first = failed.responses?.first?.response_range
        #expect(first?.kvs?.first?.key == Data("k".utf8) && first?.more == true)
    }

    @Test("base64 of any length is what a decoder makes of it")
    func base64() throws {
        var random = SeededRandom(1)
        for count in 0..<70 {
            let data = Data((0..<count).map { _ in UInt8(random.below(256)) })
            let event = #"{"kv":{"key":"\#(data.base64EncodedString())"}}"#
            #expect(try read(event, as: EtcdWatchLine.Event.self).kv.key == data)
        }
    }

    @Test(
        "anything else is an error, and no trap",
        arguments: [
            "", "[]", "null", "{", #"{"result":1}"#, #"{"result":{"events":{}}}"#, #"{"result":{}} x"#,
            #"{"result":{"events":[{"kv":{"key":"é"}}]}}"#, #"{"result":{"events":[{"kv":{"key":"}}]}}"#,
            #"{"result":{"header":{"revision":"x"}}}"#, #"{"result":{"header":{"revision":{}}}}"#,
            #"{"result":{"header":{"revision":"}}}"#, #"{"result":{"header":{"revision":""}}}"#,
        ]
    )
    func unreadable(text: String) {
        #expect(throws: (any Error).self) { try read(text, as: EtcdWatchLine.self) }
    }
}

@Suite("Threads of transfers")
struct TransferThreadTests {
    @Test("as many jobs as threads run at the same time, and one more waits")
    func limit() async throws {
        let threads = TransferThreads()
        let gate = DispatchSemaphore(value: 0)
        let (begun, begins) = AsyncStream.makeStream(of: Int.self)
        for number in 0...TransferThreads.threadsMax {
            try threads.run {
                begins.yield(number)
                gate.wait()
            }
        }
        var iterator = begun.makeAsyncIterator()
        var running: Set<Int> = []
        for _ in 0..<TransferThreads.threadsMax { running.insert(try #require(await iterator.next())) }
        #expect(running == Set(0..<TransferThreads.threadsMax))
        gate.signal()
        #expect(await iterator.next() == TransferThreads.threadsMax)
        for _ in 0..<TransferThreads.threadsMax { gate.signal() }
    }
}
