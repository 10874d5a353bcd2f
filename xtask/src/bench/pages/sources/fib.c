#include <stdio.h>
#include <stdlib.h>

static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int count, char **words) {
    int times = count > 1 ? atoi(words[1]) : 1;
    for (int time = 0; time < times; time++) {
        printf("%d\n", fib(40));
    }
    return 0;
}
