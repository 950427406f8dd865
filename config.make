# Flags for our objects only. Symbols stay hidden, and warnings from an untested
# compiler do not break a user's build. -Wno-subobject-linkage: GCC treats the
# files of a unit as headers, and warns if their types use an anonymous
# namespace.
petstore_objs="$NGX_OBJS/addon/$(basename "$ngx_addon_dir")/ngx_http_petstore_module.o"
for unit in $petstore_units; do
    obj=$NGX_OBJS/addon/petstore/$(basename "$unit" .cpp).o
    petstore_objs="$petstore_objs $obj"
    echo "$obj: $(sed 's/#include "\(.*\)"/\1/' "$unit" | tr '\n' ' ')" >> $NGX_MAKEFILE
done
# GCC's default lets a unit grow by 40 percent by inlining. A unit here is a layer,
# whose seldom used code would take the share of a request's.
petstore_inlining=
if [ "$NGX_CC_NAME" = gcc ]; then
    petstore_inlining='--param=inline-unit-growth=100 --param=max-inline-insns-auto=30'
fi
# These layers embed what they have beside C++: scripts for Redis, JSON, HTML.
for layer in store openapi metrics; do
    files=$(find "$ngx_addon_dir/src/$layer" -type f ! -name '*.cpp' ! -name '*.h' |
        LC_ALL=C sort | tr '\n' ' ')
    header=$NGX_OBJS/${layer}_files.h
    cat << END                                                >> $NGX_MAKEFILE
$NGX_OBJS/addon/petstore/$layer.o:	$header
$header:	$ngx_addon_dir/scripts/embed $files
	$ngx_addon_dir/scripts/embed $header $files
END
done
obj=$NGX_OBJS/addon/api/build_version.o
petstore_objs="$petstore_objs $obj"

cat << END                                                    >> $NGX_MAKEFILE

$petstore_objs:	CFLAGS += -Wno-error -Wno-subobject-linkage -fvisibility=hidden $petstore_inlining $PETSTORE_CXXFLAGS

$NGX_OBJS/addon/petstore/administration.o $NGX_OBJS/addon/petstore/admin.o:	CFLAGS += -std=c++20

$obj:	$NGX_OBJS/petstore_commit.h

$NGX_OBJS/petstore_commit.h:	petstore_always
	$ngx_addon_dir/scripts/embed-commit $NGX_OBJS/petstore_commit.h

.PHONY:	petstore_always
END
