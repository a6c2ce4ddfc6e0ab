// Memory of buffers that is used again.
//
// Why an address: only it shows that memory came back. It is compared, and never read through.

import PlugboardMemory
import PlugboardWire
import Testing

@testable import PlugboardBroker

@Suite("Spare buffer memory")
struct BufferPoolTests {
    private static func filled(_ text: StaticString) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.append(text)
        return buffer
    }

    @Test("a buffer gets room for what it is to hold, and keeps what it holds")
    func room() {
        var pool = BufferPool()
        var buffer = Self.filled("waiting")
        buffer.removeFirst(4)
        pool.lend(1000, to: &buffer)
        let hasRoom = buffer.hasRoom(for: 1000)
        #expect(hasRoom)
        #expect(Array(buffer.bytes) == Array("ing".utf8))
        // The buffer's old memory is spare now, and a smaller buffer gets it.
        #expect(pool.bytes == 64)
        var small = ByteBuffer()
        pool.lend(40, to: &small)
        #expect((small.allocatedBytes, pool.bytes) == (64, 0))
    }

    /// The address of an empty buffer's memory.
    private func address(of buffer: inout ByteBuffer) -> UInt {
        buffer.append(byte: 0)
        defer { buffer.removeAll() }
        return unsafe buffer.bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }

    @Test("memory goes round: what was taken back fits the next one of its size, not a larger one")
    func roundabout() {
        var pool = BufferPool()
        var buffer = ByteBuffer()
        pool.lend(5000, to: &buffer)
        let place = address(of: &buffer)
        pool.takeBack(from: &buffer)
        #expect((buffer.allocatedBytes, pool.bytes) == (0, 8192))
        var larger = ByteBuffer()
        pool.lend(9000, to: &larger)
        #expect((larger.allocatedBytes, pool.bytes) == (16_384, 8192))
        var alike = ByteBuffer()
        pool.lend(8192, to: &alike)
        let first = address(of: &alike)
        #expect(first == place)
        pool.takeBack(from: &alike)
        pool.lend(to: &alike)
        let second = address(of: &alike)
        #expect(second == place)
        #expect(pool.bytes == 0)
    }

    @Test("without spare memory a buffer gets none until it needs some")
    func none() {
        var pool = BufferPool()
        var buffer = ByteBuffer()
        pool.lend(to: &buffer)
        #expect(buffer.allocatedBytes == 0)
        pool.takeBack(from: &buffer)
        #expect(pool.bytes == 0)
    }

    @Test("it keeps so many bytes and no more, and no block past its largest")
    func limits() {
        var pool = BufferPool()
        let count = BufferPool.pooledBytesMax / BufferPool.blockBytesMax
        for number in 0...count {
            var buffer = ByteBuffer()
            buffer.reserve(BufferPool.blockBytesMax)
            pool.takeBack(from: &buffer)
            #expect(pool.bytes == min(number + 1, count) * BufferPool.blockBytesMax)
        }
        pool.releaseAll()
        #expect(pool.bytes == 0)
        var other = BufferPool()
        var large = ByteBuffer()
        large.reserve(BufferPool.blockBytesMax + 1)
        other.takeBack(from: &large)
        #expect(other.bytes == 0)
        other.lend(BufferPool.blockBytesMax + 1, to: &large)
        #expect(large.allocatedBytes == 0)
    }
}
