//! The text of kernels, in NVIDIA's portable assembly (PTX ISA, <https://docs.nvidia.com/cuda/parallel-thread-execution/>). The driver
//! compiles it for the device at first use.
//!
//! Version and target are old ones that every driver of these years takes. Kernels of a sort come from one template.

use std::fmt::Write;

use crate::kernel::{Kernel, Packing};
use crate::{Number, Op};

const HEAD: &str = ".version 6.3\n.target sm_52\n.address_size 64\n";

/// The module that has this kernel alone.
pub fn text(kernel: Kernel) -> String {
    let name = kernel.name();
    match kernel {
        Kernel::Combine(op, number) => match Class::of(number) {
            Some(class) => combine(&name, op, &class),
            None => combine_fields(&name, op, &fields(number)),
        },
        Kernel::Rows(unit) => rows(&name, unit),
        Kernel::Pieces(packing) => pieces(&name, packing),
    }
}

/// How many elements a thread takes at once, at most.
pub fn at_once(number: Number) -> u32 {
    Class::of(number).map_or(1, |class| class.vector())
}

/// How elements of one value are loaded, kept and computed with.
struct Class {
    /// Type of loads and stores, such as `s8`.
    access: &'static str,
    /// Type of registers.
    register: &'static str,
    /// Type of arithmetic.
    arithmetic: &'static str,
    bytes: u32,
}

impl Class {
    /// `None`: elements have two values.
    fn of(number: Number) -> Option<Self> {
        let (access, register, arithmetic, bytes) = match number {
            Number::I8 => ("s8", "b32", "s32", 1),
            Number::I16 => ("s16", "b32", "s32", 2),
            Number::I32 => ("s32", "b32", "s32", 4),
            Number::I64 => ("s64", "b64", "s64", 8),
            Number::U8 => ("u8", "b32", "u32", 1),
            Number::U16 => ("u16", "b32", "u32", 2),
            Number::U32 => ("u32", "b32", "u32", 4),
            Number::U64 => ("u64", "b64", "u64", 8),
            Number::F16 => ("u16", "b32", "f16", 2),
            Number::BF16 => ("u16", "b32", "bf16", 2),
            Number::F32 => ("f32", "f32", "f32", 4),
            Number::F64 => ("f64", "f64", "f64", 8),
            _ => return None,
        };
        Some(Self {
            access,
            register,
            arithmetic,
            bytes,
        })
    }

    fn is_float(&self) -> bool {
        matches!(self.arithmetic, "f32" | "f64")
    }

    /// Elements of one vector load.
    fn vector(&self) -> u32 {
        if self.bytes == 8 { 2 } else { 4 }
    }
}

/// `%a<i> = %a<i> op %b<i>`.
fn operation(op: Op, class: &Class, i: u32) -> String {
    let (register, arithmetic) = (class.register, class.arithmetic);
    if class.arithmetic.ends_with("f16") {
        return operation_of_halves(op, arithmetic == "bf16", i);
    }
    let three = format!("%a{i}, %a{i}, %b{i};");
    let truths = format!("setp.ne.{arithmetic} %p4, %a{i}, 0;\n setp.ne.{arithmetic} %p5, %b{i}, 0;\n");
    let answer = format!("selp.{register} %a{i}, 1, 0, %p4;");
    // Of reals as the processor's kernels: the right operand unless the comparison holds.
    let larger = |compare: &str, integers: &str| match class.is_float() {
        true => format!("setp.{compare}.{arithmetic} %p4, %a{i}, %b{i};\n selp.{arithmetic} %a{i}, %a{i}, %b{i}, %p4;"),
        false => format!("{integers}.{arithmetic} {three}"),
    };
    let rounded = if class.is_float() { "rn." } else { "" };
    match op {
        Op::Max => larger("gt", "max"),
        Op::Min => larger("lt", "min"),
        Op::Sum => format!("add.{rounded}{arithmetic} {three}"),
        Op::Prod if class.is_float() => format!("mul.{rounded}{arithmetic} {three}"),
        Op::Prod => format!("mul.lo.{arithmetic} {three}"),
        Op::Band => format!("and.{register} {three}"),
        Op::Bor => format!("or.{register} {three}"),
        Op::Bxor => format!("xor.{register} {three}"),
        Op::Land => format!("{truths} and.pred %p4, %p4, %p5;\n {answer}"),
        Op::Lor => format!("{truths} or.pred %p4, %p4, %p5;\n {answer}"),
        Op::Lxor => format!("{truths} xor.pred %p4, %p4, %p5;\n {answer}"),
        Op::Minloc | Op::Maxloc => unreachable!("an operation on pairs"),
    }
}

/// The same of halves, computed as reals of 4 bytes and rounded to nearest even. Those of 16 bits with 8 of exponent (`brain`) are the upper
/// bits of such a real, for which older devices have no instructions.
fn operation_of_halves(op: Op, brain: bool, i: u32) -> String {
    let widen = |half: char, to: u32| match brain {
        true => format!("shl.b32 %r4, %{half}{i}, 16;\n mov.b32 %f{to}, %r4;\n"),
        false => format!("cvt.u16.u32 %h0, %{half}{i};\n cvt.f32.f16 %f{to}, %h0;\n"),
    };
    let narrow = match brain {
        true => format!(
            "mov.b32 %r4, %f0;
 setp.nan.f32 %p4, %f0, %f0;
 shr.u32 %r5, %r4, 16;
 and.b32 %r6, %r5, 1;
 or.b32 %r5, %r5, 64;
 add.u32 %r4, %r4, %r6;
 add.u32 %r4, %r4, 32767;
 shr.u32 %r4, %r4, 16;
 selp.b32 %a{i}, %r5, %r4, %p4;"
        ),
        false => format!("cvt.rn.f16.f32 %h0, %f0;\n cvt.u32.u16 %a{i}, %h0;"),
    };
    let select = format!("selp.b32 %a{i}, %a{i}, %b{i}, %p4;");
    let both = format!("{} {}", widen('a', 0), widen('b', 1));
    match op {
        Op::Max => format!("{both} setp.gt.f32 %p4, %f0, %f1;\n {select}"),
        Op::Min => format!("{both} setp.lt.f32 %p4, %f0, %f1;\n {select}"),
        Op::Sum => format!("{both} add.rn.f32 %f0, %f0, %f1;\n {narrow}"),
        Op::Prod => format!("{both} mul.rn.f32 %f0, %f0, %f1;\n {narrow}"),
        _ => unreachable!("an operation on integers"),
    }
}

/// Each thread takes vectors of elements where all three addresses allow it, and then what is left one by one.
fn combine(name: &str, op: Op, class: &Class) -> String {
    let (width, access, bytes) = (class.vector(), class.access, class.bytes);
    let list = |letter: char| {
        let names: Vec<String> = (0..width).map(|i| format!("%{letter}{i}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let all: String = (0..width).map(|i| format!(" {}\n", operation(op, class, i))).collect();
    let one = operation(op, class, 0);
    let (a, b) = (list('a'), list('b'));
    let mask = width * bytes - 1;
    let vector_bytes = width * bytes;
    let register = class.register;
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 result, .param .u64 left, .param .u64 right, .param .u64 count)
{{
 .reg .pred %p<6>;
 .reg .b32 %r<7>;
 .reg .b64 %d<16>;
 .reg .b16 %h<1>;
 .reg .f32 %f<2>;
 .reg .{register} %a<{width}>;
 .reg .{register} %b<{width}>;
 ld.param.u64 %d0, [result];
 ld.param.u64 %d1, [left];
 ld.param.u64 %d2, [right];
 ld.param.u64 %d3, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d1, %d1;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r0, %ntid.x;
 mov.u32 %r1, %ctaid.x;
 mov.u32 %r2, %tid.x;
 mov.u32 %r3, %nctaid.x;
 mul.wide.u32 %d4, %r1, %r0;
 cvt.u64.u32 %d5, %r2;
 add.u64 %d4, %d4, %d5;
 mul.wide.u32 %d5, %r3, %r0;
 mov.u64 %d6, 0;
 or.b64 %d7, %d0, %d1;
 or.b64 %d7, %d7, %d2;
 and.b64 %d7, %d7, {mask};
 setp.ne.u64 %p0, %d7, 0;
 @%p0 bra rest;
 div.u64 %d8, %d3, {width};
 mul.lo.u64 %d6, %d8, {width};
 mov.u64 %d9, %d4;
vectors:
 setp.ge.u64 %p1, %d9, %d8;
 @%p1 bra rest;
 mul.lo.u64 %d10, %d9, {vector_bytes};
 add.u64 %d11, %d1, %d10;
 add.u64 %d12, %d2, %d10;
 add.u64 %d13, %d0, %d10;
 ld.global.v{width}.{access} {a}, [%d11];
 ld.global.v{width}.{access} {b}, [%d12];
{all} st.global.v{width}.{access} [%d13], {a};
 add.u64 %d9, %d9, %d5;
 bra vectors;
rest:
 add.u64 %d9, %d6, %d4;
elements:
 setp.ge.u64 %p2, %d9, %d3;
 @%p2 bra done;
 mul.lo.u64 %d10, %d9, {bytes};
 add.u64 %d11, %d1, %d10;
 add.u64 %d12, %d2, %d10;
 add.u64 %d13, %d0, %d10;
 ld.global.{access} %a0, [%d11];
 ld.global.{access} %b0, [%d12];
 {one}
 st.global.{access} [%d13], %a0;
 add.u64 %d9, %d9, %d5;
 bra elements;
done:
 ret;
}}
"
    )
}

/// A value of an element of two.
struct Field {
    class: Class,
    /// Where it begins in the element.
    offset: u32,
}

/// The two values of such an element, laid out as C does.
fn fields(number: Number) -> [Field; 2] {
    use Number::*;
    let (first, second) = match number {
        C32 | F32F32 => (F32, F32),
        C64 | F64F64 => (F64, F64),
        I16I32 => (I16, I32),
        I32I32 => (I32, I32),
        I64I32 => (I64, I32),
        F32I32 => (F32, I32),
        F64I32 => (F64, I32),
        _ => unreachable!("a number of one value"),
    };
    let field = |number: Number, offset: u32| Field {
        class: Class::of(number).unwrap_or_else(|| unreachable!("a number of one value")),
        offset,
    };
    [field(first, 0), field(second, first.bytes().max(second.bytes()) as u32)]
}

/// Elements of two values, one by one: `%x` is the left, `%y` the right, and the result.
fn combine_fields(name: &str, op: Op, fields: &[Field; 2]) -> String {
    let [first, second] = fields;
    let (t0, t1) = (first.class.arithmetic, second.class.arithmetic);
    let operation = match op {
        Op::Sum => format!("add.rn.{t0} %y0, %x0, %y0;\n add.rn.{t1} %y1, %x1, %y1;"),
        Op::Prod => format!(
            "mul.rn.{t0} %z0, %x0, %y0;
 mul.rn.{t0} %z1, %x1, %y1;
 mul.rn.{t0} %x0, %x0, %y1;
 mul.rn.{t0} %x1, %x1, %y0;
 sub.rn.{t0} %y0, %z0, %z1;
 add.rn.{t0} %y1, %x0, %x1;"
        ),
        // The better value, and of equal values the smaller place.
        Op::Minloc | Op::Maxloc => {
            let better = if op == Op::Minloc { "lt" } else { "gt" };
            format!(
                "setp.{better}.{t0} %p1, %x0, %y0;
 setp.eq.{t0} %p2, %x0, %y0;
 setp.lt.{t1} %p3, %x1, %y1;
 and.pred %p2, %p2, %p3;
 or.pred %p2, %p2, %p1;
 selp.{r0} %y0, %x0, %y0, %p1;
 selp.{r1} %y1, %x1, %y1, %p2;",
                r0 = first.class.register,
                r1 = second.class.register
            )
        }
        _ => unreachable!("an operation on one value"),
    };
    let mut registers = String::new();
    let (mut loads, mut stores) = (String::new(), String::new());
    for (i, field) in fields.iter().enumerate() {
        let (register, access, offset) = (field.class.register, field.class.access, field.offset);
        let _ = writeln!(
            registers,
            " .reg .{register} %x{i};\n .reg .{register} %y{i};\n .reg .{register} %z{i};"
        );
        let _ = writeln!(
            loads,
            " ld.global.{access} %x{i}, [%d7+{offset}];\n ld.global.{access} %y{i}, [%d8+{offset}];"
        );
        let _ = writeln!(stores, " st.global.{access} [%d9+{offset}], %y{i};");
    }
    let bytes = second.offset + first.class.bytes.max(second.class.bytes);
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 result, .param .u64 left, .param .u64 right, .param .u64 count)
{{
 .reg .pred %p<4>;
 .reg .b32 %r<4>;
 .reg .b64 %d<10>;
{registers} ld.param.u64 %d0, [result];
 ld.param.u64 %d1, [left];
 ld.param.u64 %d2, [right];
 ld.param.u64 %d3, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d1, %d1;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r0, %ntid.x;
 mov.u32 %r1, %ctaid.x;
 mov.u32 %r2, %tid.x;
 mov.u32 %r3, %nctaid.x;
 mul.wide.u32 %d4, %r1, %r0;
 cvt.u64.u32 %d5, %r2;
 add.u64 %d4, %d4, %d5;
 mul.wide.u32 %d5, %r3, %r0;
elements:
 setp.ge.u64 %p0, %d4, %d3;
 @%p0 bra done;
 mul.lo.u64 %d6, %d4, {bytes};
 add.u64 %d7, %d1, %d6;
 add.u64 %d8, %d2, %d6;
 add.u64 %d9, %d0, %d6;
{loads} {operation}
{stores} add.u64 %d4, %d4, %d5;
 bra elements;
done:
 ret;
}}
"
    )
}

/// How a unit of so many bytes is loaded and stored, through which registers.
fn unit_access(unit: u32) -> (&'static str, &'static str) {
    match unit {
        16 => ("v2.u64", "{%u0, %u1}"),
        8 => ("u64", "%u0"),
        4 => ("u32", "%v0"),
        2 => ("u16", "%v0"),
        _ => ("u8", "%v0"),
    }
}

/// Rows of units: thread i copies unit i, then the one as many behind it as there are threads.
fn rows(name: &str, unit: u32) -> String {
    let (access, registers) = unit_access(unit);
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 to, .param .u64 to_pitch, .param .u64 from, .param .u64 from_pitch, .param .u32 width, \
         .param .u32 count)
{{
 .reg .pred %p<2>;
 .reg .b32 %r<10>;
 .reg .b32 %v<1>;
 .reg .b64 %u<2>;
 .reg .b64 %d<12>;
 ld.param.u64 %d0, [to];
 ld.param.u64 %d1, [to_pitch];
 ld.param.u64 %d2, [from];
 ld.param.u64 %d3, [from_pitch];
 ld.param.u32 %r0, [width];
 ld.param.u32 %r1, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r2, %ntid.x;
 mov.u32 %r3, %ctaid.x;
 mov.u32 %r4, %tid.x;
 mov.u32 %r5, %nctaid.x;
 mad.lo.u32 %r6, %r3, %r2, %r4;
 mul.lo.u32 %r5, %r5, %r2;
units:
 setp.ge.u32 %p0, %r6, %r1;
 @%p0 bra done;
 div.u32 %r7, %r6, %r0;
 mul.lo.u32 %r8, %r7, %r0;
 sub.u32 %r8, %r6, %r8;
 mul.wide.u32 %d4, %r8, {unit};
 cvt.u64.u32 %d5, %r7;
 mul.lo.s64 %d6, %d5, %d1;
 mul.lo.s64 %d7, %d5, %d3;
 add.s64 %d8, %d0, %d6;
 add.s64 %d8, %d8, %d4;
 add.s64 %d9, %d2, %d7;
 add.s64 %d9, %d9, %d4;
 ld.global.{access} {registers}, [%d9];
 st.global.{access} [%d8], {registers};
 add.u32 %r6, %r6, %r5;
 bra units;
done:
 ret;
}}
"
    )
}

/// Pieces: a warp takes a piece, then the one as many behind it as there are warps; its threads copy units of the largest size that both
/// addresses and the length allow. Entries are `{offset in memory, position among the packed, length}`.
fn pieces(name: &str, packing: Packing) -> String {
    let (from, to) = match packing {
        Packing::Gather => ("%d6", "%d7"),
        Packing::Scatter => ("%d7", "%d6"),
    };
    let mut loops = String::new();
    let units = [16_u32, 8, 4, 1];
    for (at, unit) in units.into_iter().enumerate() {
        let (access, registers) = unit_access(unit);
        let next = units.get(at + 1).copied().unwrap_or(0);
        let choose = match next {
            0 => String::new(),
            next => format!(
                " and.b64 %d10, %d9, {mask};\n setp.ne.u64 %p1, %d10, 0;\n @%p1 bra by{next};\n",
                mask = unit - 1
            ),
        };
        let _ = write!(
            loops,
            "by{unit}:
{choose} mul.wide.u32 %d11, %r6, {unit};
copy{unit}:
 setp.ge.u64 %p2, %d11, %d8;
 @%p2 bra next;
 add.u64 %d12, {from}, %d11;
 add.u64 %d13, {to}, %d11;
 ld.global.{access} {registers}, [%d12];
 st.global.{access} [%d13], {registers};
 add.u64 %d11, %d11, {stride};
 bra copy{unit};
",
            stride = 32 * unit
        );
    }
    format!(
        "{HEAD}.visible .entry {name}(.param .u64 memory, .param .u64 entries, .param .u64 packed, .param .u32 count)
{{
 .reg .pred %p<3>;
 .reg .b32 %r<10>;
 .reg .b32 %v<1>;
 .reg .b64 %u<2>;
 .reg .b64 %d<16>;
 ld.param.u64 %d0, [memory];
 ld.param.u64 %d1, [entries];
 ld.param.u64 %d2, [packed];
 ld.param.u32 %r0, [count];
 cvta.to.global.u64 %d0, %d0;
 cvta.to.global.u64 %d1, %d1;
 cvta.to.global.u64 %d2, %d2;
 mov.u32 %r1, %ntid.x;
 mov.u32 %r2, %ctaid.x;
 mov.u32 %r3, %tid.x;
 mov.u32 %r4, %nctaid.x;
 mad.lo.u32 %r5, %r2, %r1, %r3;
 and.b32 %r6, %r5, 31;
 shr.u32 %r5, %r5, 5;
 mul.lo.u32 %r7, %r4, %r1;
 shr.u32 %r7, %r7, 5;
pieces:
 setp.ge.u32 %p0, %r5, %r0;
 @%p0 bra done;
 mul.wide.u32 %d3, %r5, 24;
 add.u64 %d3, %d1, %d3;
 ld.global.u64 %d4, [%d3];
 ld.global.u64 %d5, [%d3+8];
 ld.global.u64 %d8, [%d3+16];
 add.s64 %d6, %d0, %d4;
 add.s64 %d7, %d2, %d5;
 or.b64 %d9, %d6, %d7;
 or.b64 %d9, %d9, %d8;
{loops}next:
 add.u32 %r5, %r5, %r7;
 bra pieces;
done:
 ret;
}}
"
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::text;
    use crate::kernel::all;

    /// With NVIDIA's assembler in `PATH` (`ptxas`); without it there is nothing to try.
    #[test]
    fn all_kernels_assemble() {
        if Command::new("ptxas").arg("--version").output().is_err() {
            return;
        }
        let folder = std::env::temp_dir().join(format!("isthmus-ptx-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut whole = super::HEAD.to_owned();
        for kernel in all() {
            let one = text(kernel);
            whole.push_str(one.strip_prefix(super::HEAD).expect("the same head"));
        }
        let source = folder.join("kernels.ptx");
        std::fs::write(&source, whole).expect("a file");
        for target in ["sm_52", "sm_70", "sm_90"] {
            let run = Command::new("ptxas")
                .args(["--gpu-name", target, "--warn-on-spills", "--output-file"])
                .arg(folder.join(target))
                .arg(&source)
                .output()
                .expect("the assembler");
            let told = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "{target}: {told}");
        }
        std::fs::remove_dir_all(&folder).expect("no folder");
    }

    #[test]
    fn each_text_names_its_kernel_alone() {
        for kernel in all() {
            let text = text(kernel);
            assert_eq!(text.matches(".entry ").count(), 1);
            assert!(text.contains(&format!(".entry {}(", kernel.name())));
            assert!(text.is_ascii() && !text.contains('\0'));
        }
    }
}
